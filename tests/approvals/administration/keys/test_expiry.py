"""Keys expire: the longest lifetime, the warnings before, what an expired key is told, and what it no longer does."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone, translation

from approvals import actions
from approvals.administration.keys.actions import create_key, revoke_key, rotate_key, warn_of_expiring_keys
from approvals.asking.answers import Answer
from approvals.background import sweep
from approvals.exceptions import NotAuthenticated
from approvals.models import ApprovalRequest, AuditEntry, Decision, Preferences
from approvals.models.actors import KeyActor
from approvals.models.keys import ApiKey, next_warning, text_of
from approvals.outbound import mailing
from approvals.states import Door, Verdict
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.days import day_in
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request, stored
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)

DAY = timedelta(days=1)


def with_mail(person: Any) -> Any:
    person.email = f"{person.username}@example.org"
    person.save()
    return person


def mails() -> list[tuple[str, str, str]]:
    """The recipient, subject and first line of each mail since the last look."""
    mailing._thread.submit(bool).result()
    seen = [(one.to[0], str(one.subject), str(one.body).splitlines()[0]) for one in mail.outbox]
    mail.outbox.clear()
    return seen


def move(key: ApiKey, passed: timedelta) -> None:
    """Let time pass for a key."""
    key.refresh_from_db()
    for name in ("expires_at", "warn_at"):
        if (moment := getattr(key, name)) is not None:
            setattr(key, name, moment - passed)
    key.save()


def left(key: ApiKey) -> int:
    """The days until a key expires, rounded."""
    key.refresh_from_db()
    assert key.expires_at is not None
    return round((key.expires_at - timezone.now()) / DAY)


@pytest.mark.parametrize("make", ["action", "page", "connect"])
def test_a_key_expires_after_a_year_if_nobody_chooses_a_day(make):
    client = browser(administrator())
    if make == "action":
        create_key(alice(), name="agent")
    elif make == "page":
        form = parse(client.get("/settings/keys/").text)
        (day,) = [field for field in form.find("input") if field.attributes.get("name") == "last_day"]
        sent = {"name": "agent", "user": "dora", "scopes": ["ask"], "last_day": day.attributes["value"]}
        assert client.post("/settings/keys/", sent).status_code == 200
    else:
        client.post("/settings/connect/", {"name": "agent"})
    assert left(ApiKey.objects.get()) in {365, 366}


@pytest.mark.parametrize(("longest", "day", "status"), [(90, 90, 200), (90, 91, 422), (0, 3650, 200), (0, 3651, 422)])
def test_a_key_works_at_most_as_long_as_the_settings_allow(settings, longest, day, status):
    settings.HITL_MAX_KEY_DAYS, settings.HITL_KEY_DAYS = longest, 30
    client = browser(administrator())
    sent = {"name": "my agent", "user": "dora", "scopes": ["ask"], "last_day": day_in(day)}
    reply = client.post("/settings/keys/", sent)
    assert (reply.status_code, ApiKey.objects.count()) == (status, int(status == 200))
    if status == 422:
        assert f"Choose {day_in(day - 1)} or an earlier day." in reply.text
        assert 'value="my agent"' in reply.text


def test_only_where_the_settings_allow_it_a_key_never_expires_and_the_pages_warn_of_it(settings):
    client = browser(administrator())
    sent = {"name": "agent", "user": "dora", "scopes": ["ask"], "last_day": ""}
    refused = client.post("/settings/keys/", sent)
    settings.HITL_MAX_KEY_DAYS = 0
    assert (refused.status_code, client.post("/settings/keys/", sent).status_code) == (422, 200)
    assert ApiKey.objects.get().expires_at is None
    assert [badge.words for badge in parse(client.get("/settings/keys/").text).find("span", class_="badge")] == [
        "Never expires"
    ]
    assert "Valid: 1. Expire within 30 days: 0. Never expire: 1." in client.get("/settings/system/").text
    assert "Rotate these keys under API keys, or revoke them." in client.get("/settings/system/").text


def test_the_end_of_the_last_day_is_that_of_the_persons_time_zone():
    admin = administrator()
    Preferences.objects.create(person=admin, time_zone="Asia/Tokyo")
    client = browser(admin)
    with timezone.override("Asia/Tokyo"):
        last = day_in(3)
    client.post("/settings/keys/", {"name": "agent", "user": "dora", "scopes": ["ask"], "last_day": last})
    assert ApiKey.objects.get().expires_at == datetime.fromisoformat(f"{last}T15:00:00+00:00")


def test_its_owner_is_warned_30_and_7_days_before_each_time_once(settings):
    settings.HITL_MAIL = True
    key, _text = create_key(with_mail(alice()), name="agent", expires_at=timezone.now() + 40 * DAY)
    seen = []
    for passed in (9, 1, 1, 20, 3, 1, 10):
        move(key, passed * DAY)
        sweep.run_once()
        warn_of_expiring_keys()
        seen.append([(to, subject) for to, subject, _line in mails()])
    told = [("alice@example.org", "[Pausepoint] Your key expires soon")]
    assert seen == [[], told, [], [], told, [], []]


def test_the_warning_says_which_key_when_and_what_to_do_in_the_owners_language(settings):
    settings.HITL_MAIL = True
    key, _text = create_key(with_mail(alice()), name="billing\nagent", expires_at=timezone.now() + 31 * DAY)
    move(key, 2 * DAY)
    with translation.override("de"):
        warn_of_expiring_keys()
    ((_to, _subject, line),) = mails()
    assert line == (
        f"An API key of yours expires soon: billing agent (pp_{key.prefix}…), {key.expires_at:%Y-%m-%d}. From then on, "
        "calls with it are refused. Rotate it before, under Settings > API keys, and give the new key to your program."
    )


def test_a_key_that_is_revoked_rotated_or_short_lived_is_not_warned_of(settings):
    settings.HITL_MAIL = True
    owner = with_mail(alice())
    revoked, rotated = (create_key(owner, name=name, expires_at=timezone.now() + 40 * DAY)[0] for name in "ab")
    create_key(owner, name="short", expires_at=timezone.now() + 7 * DAY)
    revoke_key(revoked.pk, by=owner, via=Door.DASHBOARD)
    rotate_key(rotated.pk, by=owner, via=Door.DASHBOARD, expires_at=timezone.now() + 99 * DAY)
    mails()
    for key in ApiKey.objects.filter(name__in=["a", "b", "short"], replaces__isnull=True):
        move(key, 35 * DAY if key.name != "short" else DAY)
    warn_of_expiring_keys()
    assert mails() == []


def test_next_warnings():
    now = timezone.now()
    by_days = {days: next_warning(now + days * DAY, now) for days in (365, 30, 8, 7, 1, -1)}
    assert {days: moment and round((moment - now) / DAY) for days, moment in by_days.items()} == {
        365: 335, 30: 23, 8: 1, 7: None, 1: None, -1: None,
    }  # fmt: skip
    assert next_warning(None, now) is None


def test_an_expired_key_is_told_when_it_expired_and_what_to_do_but_no_one_without_its_secret():
    key, text = create_key(alice(), name="agent")
    moment = timezone.now() - timedelta(seconds=1)
    ApiKey.objects.update(expires_at=moment)
    refused = Machine(authorization=f"Bearer {text}").get("/requests")
    assert refused.refusal == (401, "not_authenticated")
    assert refused.body["detail"] == (
        f"This key expired on {moment:%Y-%m-%d} and no longer works. Create a new one in Pausepoint under Settings > "
        "API keys, or ask an administrator for one."
    )
    forged = Machine(authorization=f"Bearer {text_of(key.prefix, 'x' * 43)}").get("/requests")
    ApiKey.objects.update(revoked_at=moment)
    revoked = Machine(authorization=f"Bearer {text}").get("/requests")
    assert forged.body["detail"] == revoked.body["detail"]
    assert "expired or revoked" in revoked.body["detail"]


def test_a_key_that_expires_while_its_decision_waits_for_the_lock_decides_nothing():
    request, person = make_request(alice(), tool_name="pay"), bob()
    key, _text = create_key(person, name="ci", scopes=("decide",), expires_at=timezone.now() + DAY)
    # The caller was admitted; then the key expires.
    actor = KeyActor(person, key)
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(NotAuthenticated, match=r"Your session or key has ended\. Nothing was changed\."):
        actions.decide(request.pk, Answer(Verdict.APPROVE), by=actor, via=Door.REST)
    assert (stored(request).status, Decision.objects.count()) == ("pending", 0)


def test_a_request_stays_when_the_key_that_asked_expires():
    machine = Machine(alice())
    asked = machine.ask()
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert machine.get(f"/requests/{asked['id']}").status == 401
    request = ApprovalRequest.objects.get()
    actions.decide(request.pk, Answer(Verdict.APPROVE), by=bob(), via=Door.REST)
    assert stored(request).status == "approved"


def test_the_expiry_is_on_record():
    key, _text = create_key(alice(), name="agent")
    data = AuditEntry.objects.get(event="key.created").data
    assert datetime.fromisoformat(data["expires_at"]) == key.expires_at
