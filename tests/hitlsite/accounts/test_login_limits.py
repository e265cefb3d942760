"""Rate limits of log-ins, with the limits of a real site, which other tests switch off."""

from __future__ import annotations

import pytest
from allauth.core.internal.ratelimit import parse_rates
from django.core.cache import cache
from django.test import Client

from approvals.models import AuditEntry
from hitlsite import settings as ours
from tests.support import people
from tests.support.markup import parse

pytestmark = pytest.mark.django_db

HOME, STRANGER = "192.0.2.1", "198.51.100.7"
TRIES, TRIES_FROM_ONE_ADDRESS = 20, 100


@pytest.fixture(autouse=True)
def _real_limits(settings):
    settings.ACCOUNT_RATE_LIMITS = ours.ACCOUNT_RATE_LIMITS
    cache.clear()
    yield
    cache.clear()


def send(name: str, password: str = people.PASSWORD, *, address: str = HOME, client: Client | None = None, **more: str):
    return (client or Client()).post("/login/", {"username": name, "password": password}, REMOTE_ADDR=address, **more)


def fail(name: str, times: int = TRIES, **more: str) -> list[int]:
    return [send(name, f"guess {number}", **more).status_code for number in range(times)]


def assert_refused(answer) -> None:
    (section,) = parse(answer.text).find("section", class_="problem")
    words = [section.find(tag)[0].words for tag in ("p", "h1")]
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "300")
    assert words == ["429", "Too many attempts. Wait 5 minutes, then try again."]


def test_after_twenty_wrong_passwords_a_page_says_how_long_to_wait(client):
    people.alice()
    assert fail("alice") == [200] * TRIES
    assert_refused(send("alice", "guess"))
    assert_refused(send("alice", client=client))
    assert "_auth_user_id" not in client.session


def test_failed_log_ins_do_not_lock_out_other_addresses():
    people.alice()
    fail("alice", 3 * TRIES, address=STRANGER)
    assert send("alice", address=HOME).status_code == 302
    people.make_person("erin")
    assert send("erin", address=STRANGER).status_code == 302


def test_tries_of_one_address_on_many_accounts_are_limited():
    people.alice()
    found = [status for number in range(6) for status in fail(f"person-{number}", address=STRANGER)]
    assert found == [200] * TRIES_FROM_ONE_ADDRESS + [429] * TRIES
    assert_refused(send("alice", address=STRANGER))
    assert send("alice", address=HOME).status_code == 302


def test_addresses_of_one_ipv6_network_count_as_one():
    fail("alice", address="2001:db8::1")
    assert_refused(send("alice", address="2001:db8::ffff"))
    assert send("alice", address="2001:db8:0:1::1").status_code == 200


def test_mapped_ipv4_addresses_count_separately():
    fail("alice", address=f"::ffff:{STRANGER}")
    assert_refused(send("alice", address=STRANGER))
    assert send("alice", address=f"::ffff:{HOME}").status_code == 200


def test_successful_log_ins_do_not_count():
    people.alice()
    assert [send("alice").status_code for _ in range(TRIES + 5)] == [302] * (TRIES + 5)
    fail("alice", TRIES - 1)
    assert send("alice").status_code == 302


def test_the_limit_ignores_case_and_spaces_in_the_username():
    people.alice()
    for name in ("alice", "ALICE", " alice", "aliCe "):
        fail(name, TRIES // 4)
    assert_refused(send("alice"))


def test_the_admin_log_in_has_the_same_limit():
    people.alice()
    assert [Client().post("/admin/login/", {"username": "alice", "password": "x"}).status_code for _ in range(3)] == [
        302
    ] * 3
    assert AuditEntry.objects.count() == 0


def test_a_refused_try_is_logged_and_not_audited(caplog):
    fail("alice")
    before = AuditEntry.objects.count()
    send("alice")
    assert (before, AuditEntry.objects.count()) == (TRIES, TRIES)
    assert caplog.records[-1].getMessage() == f"Refused to check a password from {HOME}: too many were wrong"


def test_behind_a_proxy_its_client_address_counts(settings):
    settings.TRUSTED_PROXIES = 1
    people.alice()
    for number in range(TRIES):
        send("alice", "guess", address="10.0.0.1", HTTP_X_FORWARDED_FOR=f"203.0.113.{number}, {STRANGER}")
    assert_refused(send("alice", address="10.0.0.1", HTTP_X_FORWARDED_FOR=STRANGER))
    assert send("alice", address="10.0.0.1", HTTP_X_FORWARDED_FOR=HOME).status_code == 302


@pytest.mark.parametrize("forwarded", ["", "nonsense", "unix:", HOME])
def test_missing_or_invalid_forwarded_headers_cause_no_error(settings, forwarded):
    settings.TRUSTED_PROXIES = 2
    people.alice()
    more = {"HTTP_X_FORWARDED_FOR": forwarded} if forwarded else {}
    fail("alice", address="10.0.0.1", **more)
    assert_refused(send("alice", address="10.0.0.1", **more))


def test_without_trusted_proxies_forwarded_headers_are_ignored():
    for number in range(TRIES):
        send("alice", "guess", HTTP_X_FORWARDED_FOR=f"203.0.113.{number}")
    assert_refused(send("alice", HTTP_X_FORWARDED_FOR="203.0.113.99"))


def test_tries_to_change_a_password_are_limited_too(client):
    client.force_login(people.alice())
    form = {"oldpassword": "guess", "password1": "a new long one", "password2": "a new long one"}
    assert [client.post("/password/", form).status_code for _ in range(10)] == [200] * 10
    assert_refused(client.post("/password/", form))
    assert client.get("/password/").status_code == 200


def test_reset_mails_are_limited_per_recipient_and_per_client(client):
    assert [client.post("/password/reset/", {"email": "bob@example.org"}).status_code for _ in range(3)] == [302] * 3
    assert_refused(client.post("/password/reset/", {"email": "bob@example.org"}))
    others = [client.post("/password/reset/", {"email": f"{n}@example.org"}).status_code for n in range(20)]
    assert others == [302] * 17 + [429] * 3


def test_programs_get_a_problem_document():
    fail("alice")
    answer = send("alice", HTTP_ACCEPT="application/json")
    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (
        429,
        "too_many_requests",
        "300",
    )


def test_the_wait_covers_every_limit():
    rates = [rate for limit in ours.ACCOUNT_RATE_LIMITS.values() for rate in parse_rates(limit)]
    assert {rate.duration for rate in rates} == {ours.LIMIT_SECONDS}
