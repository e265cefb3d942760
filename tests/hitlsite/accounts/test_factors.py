"""Second factors: adding and removing them, logging in with them, and what allauth leaves to us."""

from __future__ import annotations

import json
import time
from html import unescape

import pytest
from allauth.mfa.models import Authenticator as Factor
from allauth.mfa.totp.internal import auth as time_codes
from django.core.cache import cache
from django.test import Client

from approvals.actions import factors as tries
from approvals.models import AuditEntry
from hitlsite.accounts.factor_forms import FactorAdapter
from tests.hitlsite.accounts.passkey_device import FLAG, Authenticator
from tests.support import people
from tests.support.markup import parse

pytestmark = pytest.mark.django_db

PAGE = "/settings/sign-in/"
WRONG = "Wrong code, or one that was used already."


def log_in(client: Client, name: str = "alice"):
    return client.post("/login/", {"username": name, "password": people.PASSWORD}, secure=True)


def is_logged_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def options(page) -> dict:
    form = next(each for each in parse(page.text).find("form") if "data-options" in each.attributes)
    return json.loads(unescape(form.attributes["data-options"]))


def code_of(secret: str, *, steps: int = 0) -> str:
    step = int(time.time()) // 30 + steps
    return time_codes.format_hotp_value(time_codes.hotp_value(secret, step))


def add_app(client: Client) -> str:
    """Set up an app with the earliest code that is accepted, so that later ones still work; return its secret."""
    client.get(f"{PAGE}app/", secure=True)
    secret = client.session["mfa.totp.secret"]
    answer = client.post(f"{PAGE}app/", {"code": code_of(secret, steps=-1)}, secure=True)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"{PAGE}recovery-codes/")
    return secret


def recovery_codes(client: Client) -> list[str]:
    return parse(client.get(f"{PAGE}recovery-codes/", secure=True).text).find("pre")[0].words.split()


def add_passkey(client: Client, **fields) -> Authenticator:
    passkey = Authenticator()
    credential = passkey.create(options(client.get(f"{PAGE}passkey/", secure=True)))
    answer = client.post(f"{PAGE}passkey/", {"credential": credential} | fields, secure=True)
    assert answer.status_code == 302, answer.text
    return passkey


def enter(client: Client, code: str):
    return client.post("/login/factor/", {"code": code}, secure=True)


def shown(answer) -> list[str]:
    return [each.words for each in parse(answer.text).find("p", class_="refusal")]


def entries() -> list[tuple[str, str, dict]]:
    return [(entry.event, entry.actor_name, entry.data) for entry in AuditEntry.objects.order_by("pk")]


def forget() -> None:
    """The cache of another process."""
    cache.clear()


@pytest.fixture
def alice(client):
    person = people.alice()
    person.email = "alice@example.org"
    person.save()
    log_in(client)
    return person


def test_a_password_opens_nothing_once_there_is_an_app(client, alice):
    secret = add_app(client)
    other = Client()
    assert log_in(other).headers["Location"] == "/login/factor/"
    assert not is_logged_in(other)
    assert other.get("/", secure=True).headers["Location"] == "/login/?next=/"
    assert enter(other, code_of(secret)).headers["Location"] == "/"
    assert is_logged_in(other)
    assert entries()[-1] == ("login.succeeded", "alice", {"address": "127.0.0.1", "factor": "totp"})


def test_next_survives_the_second_step(client, alice):
    secret = add_app(client)
    other = Client()
    other.post("/login/", {"username": "alice", "password": people.PASSWORD, "next": "/audit/?q=a"}, secure=True)
    assert enter(other, code_of(secret)).headers["Location"] == "/audit/?q=a"


def test_a_code_works_once_also_in_another_process(client, alice):
    secret = add_app(client)
    code = code_of(secret)
    first, second = Client(), Client()
    log_in(first)
    log_in(second)
    enter(first, code)
    forget()
    refused = enter(second, code)
    assert (shown(refused), is_logged_in(second)) == ([WRONG], False)
    assert entries()[-1] == ("login.failed", "", {"name": "alice", "address": "127.0.0.1", "factor": "code"})
    # A code of an earlier time step is as good as a used one.
    forget()
    assert shown(enter(second, code_of(secret, steps=-1))) == [WRONG]
    forget()
    enter(second, code_of(secret, steps=1))
    assert is_logged_in(second)


def test_the_code_that_sets_an_app_up_does_not_log_in(client, alice):
    secret = add_app(client)
    other = Client()
    log_in(other)
    assert shown(enter(other, code_of(secret, steps=-1))) == [WRONG]


def test_tries_are_limited_in_the_database(client, alice, monkeypatch):
    secret = add_app(client)
    other = Client()
    log_in(other)
    for _ in range(tries.MOST_TRIES):
        forget()
        assert shown(enter(other, "000")) == [WRONG]
    forget()
    refused = enter(other, code_of(secret))
    assert shown(refused) == ["Too many wrong codes. Wait 5 minutes, then try again, or use a passkey."]
    assert not is_logged_in(other)
    # Whoever waits may try once more.
    Factor.objects.filter(type="totp").update(
        data={**Factor.objects.get(type="totp").data, "tried_at": time.time() - tries.WAIT}
    )
    enter(other, code_of(secret))
    assert is_logged_in(other)
    assert Factor.objects.get(type="totp").data["tries"] == 0


def test_secrets_are_encrypted_at_rest(client, alice):
    secret = add_app(client)
    stored = {factor.type: factor.data for factor in Factor.objects.all()}
    assert stored["totp"]["secret"] != secret
    assert FactorAdapter().decrypt(stored["totp"]["secret"]) == secret
    assert len(FactorAdapter().decrypt(stored["recovery_codes"]["seed"])) == 80
    assert "mfa.totp.secret" not in client.session


def test_a_secret_of_another_secret_key_is_refused_in_words(client, alice, settings):
    secret = add_app(client)
    settings.SECRET_KEY = "another key " * 4
    other = Client()
    log_in(other)
    assert shown(enter(other, code_of(secret))) == [
        "Your second factor can no longer be read, because SECRET_KEY was changed. Ask an administrator to reset it."
    ]


def test_a_recovery_code_works_once(client, alice):
    add_app(client)
    code = recovery_codes(client)[3]
    first, second = Client(), Client()
    log_in(first)
    log_in(second)
    enter(first, code)
    assert is_logged_in(first)
    assert entries()[-1][2]["factor"] == "recovery_codes"
    assert shown(enter(second, code)) == [WRONG]


def test_recovery_codes_are_shown_once_and_can_be_replaced(client, alice):
    add_app(client)
    codes = recovery_codes(client)
    assert (len(codes), {len(code) for code in codes}) == (10, {8})
    again = client.get(f"{PAGE}recovery-codes/", secure=True)
    assert "These codes were shown already." in again.text
    assert client.post(f"{PAGE}recovery-codes/new/", secure=True).headers["Location"] == f"{PAGE}recovery-codes/"
    assert set(recovery_codes(client)) & set(codes) == set()


def test_a_passkey_is_a_second_step(client, alice):
    passkey = add_passkey(client, name="Blue key")
    other = Client()
    log_in(other)
    page = other.get("/login/factor/", secure=True)
    other.post("/login/factor/", {"credential": passkey.use(options(page))}, secure=True)
    assert is_logged_in(other)
    assert entries()[-1][2] == {"address": "127.0.0.1", "factor": "webauthn"}
    assert "Blue key" in client.get(PAGE, secure=True).text


def test_a_passkey_logs_in_alone(client, alice):
    passkey = add_passkey(client)
    other = Client()
    challenge = other.get("/login/passkey/", secure=True).json()
    answer = other.post("/login/passkey/", {"credential": passkey.use(challenge), "next": "/audit/"}, secure=True)
    assert (answer.headers["Location"], is_logged_in(other)) == ("/audit/", True)
    assert entries()[-1] == ("login.succeeded", "alice", {"address": "127.0.0.1", "by": "passkey"})


@pytest.mark.parametrize("flags", [FLAG.UP, FLAG.UV])
def test_a_passkey_must_check_the_person(client, alice, flags):
    passkey = add_passkey(client)
    passkey.flags = flags
    other = Client()
    challenge = other.get("/login/passkey/", secure=True).json()
    other.post("/login/passkey/", {"credential": passkey.use(challenge)}, secure=True)
    log_in(other)
    page = other.get("/login/factor/", secure=True)
    refused = other.post("/login/factor/", {"credential": passkey.use(options(page))}, secure=True)
    assert (refused.status_code, is_logged_in(other)) == (200, False)


def test_a_passkey_answers_one_challenge_of_its_own_site(client, alice):
    passkey = add_passkey(client)
    other = Client()
    old = passkey.use(other.get("/login/passkey/", secure=True).json())
    other.get("/login/passkey/", secure=True)
    other.post("/login/passkey/", {"credential": old}, secure=True)
    passkey.origin = "https://testserver.evil.example"
    challenge = other.get("/login/passkey/", secure=True).json()
    other.post("/login/passkey/", {"credential": passkey.use(challenge)}, secure=True)
    assert not is_logged_in(other)
    assert [event for event, _, data in entries() if data.get("factor") == "passkey"] == ["login.failed"] * 2


def test_challenges_are_limited_per_address(client, settings):
    settings.MFA_RATE_LIMITS = {"webauthn_login": "1/300s/ip"}
    assert [client.get("/login/passkey/").status_code for _ in range(2)] == [200, 429]


def test_a_deactivated_person_does_not_get_in_with_a_passkey(client, alice):
    passkey = add_passkey(client)
    alice.is_active = False
    alice.save()
    other = Client()
    challenge = other.get("/login/passkey/", secure=True).json()
    refused = other.post("/login/passkey/", {"credential": passkey.use(challenge)}, secure=True)
    assert (refused.status_code, is_logged_in(other)) == (403, False)


def forged() -> list[str]:
    """Answers of no passkey, most of them of no shape that one has."""
    response = {"clientDataJSON": "e30", "authenticatorData": "AA", "signature": "AA", "userHandle": "MQ"}
    whole = {"id": "AA", "rawId": "AA", "type": "public-key", "response": response, "clientExtensionResults": {}}
    odd = [None, True, 0, "x", [], {}, [{}], "\0", "%", "é", 10**30, {"a": []}]
    parts = [whole | {name: value} for name in whole for value in odd]
    parts += [whole | {"response": response | {name: value}} for name in response for value in odd]
    return [json.dumps(each) for each in [*odd, whole, *parts]] + ["", "{", "null", "[" * 9_000]


def test_forged_passkeys_let_nobody_in_and_none_is_an_error(client, alice):
    add_passkey(client)
    other = Client()
    statuses = set()
    for answer in forged():
        other.get("/login/passkey/", secure=True)
        statuses.add(other.post("/login/passkey/", {"credential": answer}, secure=True).status_code)
        forget()
    assert (statuses, is_logged_in(other)) == ({302}, False)


def test_forged_passkeys_are_not_added(client, alice):
    client.get(f"{PAGE}passkey/", secure=True)
    sent = [client.post(f"{PAGE}passkey/", {"credential": answer}, secure=True) for answer in forged()[:40]]
    assert ({answer.status_code for answer in sent}, Factor.objects.count()) == ({200}, 0)
