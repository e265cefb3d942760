"""The pages of engines: a second administrator confirms what loosens, and no page or record shows a credential."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from approvals.actions.callbacks.calls import target_of
from approvals.models import AuditEntry, EngineConnection, PendingChange
from approvals.policy.loosening import engine_loosens
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.engines import SECRET, make_engine, serve
from tests.support.desk.pressing import browser
from tests.support.desk.waiting_changes import confirm, waiting_change
from tests.support.markup import parse
from tests.support.receiver import document

pytestmark = pytest.mark.django_db
PAGE = "/settings/engines/"
FIELDS = {
    "name": "prod-temporal", "kind": "temporal", "url": "https://temporal.example.org", "route": "default/decide",
    "secret": SECRET,
}  # fmt: skip


@pytest.fixture
def ann() -> User:
    return administrator("ann")


def errors(response: Any) -> list[str]:
    page = parse(response.text)
    return [each.words for name in ("refusal", "field-error") for each in page.find("p", class_=name)]


def test_an_administrator_adds_an_engine_whose_credential_is_stored_encrypted_and_never_shown(ann):
    client = browser(ann)
    assert "No engines." in parse(client.get(PAGE).text).words
    assert client.post(PAGE, FIELDS).status_code == 302
    engine = EngineConnection.objects.get()
    assert (SECRET in engine.secret, target_of(engine).secret) == (False, SECRET)
    shown = client.get(f"{PAGE}{engine.pk}/").text
    words = parse(shown).words
    assert "POST https://temporal.example.org/api/v1/namespaces/default/workflows/refund-4711/update/decide" in words
    assert "Authorization: Bearer •••" in words
    recorded = str(list(AuditEntry.objects.values_list("body", flat=True)))
    assert (SECRET in shown + recorded, engine.secret in shown + recorded) == (False, False)
    entry = AuditEntry.objects.get(event="engine.changed").data
    assert entry == {
        "change": "engine added", "engine_id": engine.pk, "new_secret": True, "disabled": False, "private": False,
        **{name: FIELDS[name] for name in ("name", "kind", "url", "route")},
    }  # fmt: skip


def test_another_administrator_confirms_a_new_address_but_not_the_end_of_one(ann):
    dora = administrator("dora")
    client = browser(ann)
    client.post(PAGE, FIELDS)
    assert EngineConnection.objects.count() == 0
    page = browser(dora).get("/settings/changes/").text
    assert "Send decisions to the engine prod-temporal, like this:" in parse(page).words
    assert (SECRET in page, waiting_change().value["secret"] in page) == (False, False)
    confirm(waiting_change(), dora)
    engine = EngineConnection.objects.get()
    assert target_of(engine).secret == SECRET
    own = f"{PAGE}{engine.pk}/"
    client.post(f"{own}switch/")
    engine.refresh_from_db()
    assert (engine.disabled_at is not None, PendingChange.objects.count()) == (True, 0)
    client.post(f"{own}switch/")
    assert waiting_change().kind == "engine"


def test_a_credential_stays_until_another_is_entered_and_never_goes_to_another_address(ann):
    client = browser(ann)
    client.post(PAGE, FIELDS)
    engine = EngineConnection.objects.get()
    own = f"{PAGE}{engine.pk}/"
    kept = FIELDS | {"secret": "", "route": "default/answer"}
    assert client.post(own, kept).status_code == 302
    refused = client.post(own, kept | {"url": "https://elsewhere.example.org"})
    assert (refused.status_code, errors(refused)) == (
        422,
        ["Enter the credential again, because the address has changed."],
    )
    engine.refresh_from_db()
    assert (engine.route, engine.url, target_of(engine).secret) == ("default/answer", FIELDS["url"], SECRET)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"name": "Prod Temporal"}, "Use lower-case letters, digits and hyphens."),
        ({"url": "http://10.0.0.1:7243"}, "This address must start with https://."),
        ({"url": "https://10.0.0.1"}, "This address points to 10.0.0.1, which is in a private network."),
        ({"url": "https://169.254.169.254", "private": "on"},
         "This address points to 169.254.169.254, which Pausepoint never calls."),
        ({"route": "decide"}, "Enter two names with a slash, such as default/decide."),
        ({"route": "../decide"}, "Enter two names with a slash, such as default/decide."),
        ({"kind": "prefect"}, "Leave this empty for this engine."),
        ({"secret": "two words"}, "Enter a key or token without spaces."),
        ({"kind": "own_handler", "route": "", "secret": ""}, "Enter a secret: whsec_ and at least 24 bytes in Base64."),
        ({"kind": "own_handler", "route": "", "secret": "whsec_!"}, "Enter a secret: whsec_ and at least 24 bytes in Base64."),
    ],
)  # fmt: skip
def test_a_bad_form_is_refused_and_says_why(ann, changes, error):
    response = browser(ann).post(PAGE, FIELDS | changes)
    assert (response.status_code, errors(response)) == (422, [error])
    assert EngineConnection.objects.count() == 0


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (200, {}, "The engine answers."),
        (401, {"message": "bad key"}, "The engine refused the call: answered 401 bad key"),
        (302, "", "The engine refused the call: answered 302"),
    ],
)
def test_an_engine_is_tried_without_a_decision(ann, status, body, words):
    with serve(lambda got: document(status, body)) as there:
        engine = make_engine("prefect", there.url("/api"))
        shown = browser(ann).post(f"{PAGE}{engine.pk}/try/", follow=True)
    assert words in parse(shown.text).words
    assert [(got.path, got.headers["authorization"]) for got in there.got] == [
        ("/api/admin/version", f"Bearer {SECRET}")
    ]


def test_an_engine_that_cannot_be_reached_is_a_message(ann, settings):
    engine = make_engine("prefect", "http://127.0.0.1:1/api")
    shown = browser(ann).post(f"{PAGE}{engine.pk}/try/", follow=True)
    assert "The engine could not be called: no connection" in parse(shown.text).words
    settings.SECRET_KEY = "another"
    settings.SECRET_KEY_FALLBACKS = []
    shown = browser(ann).post(f"{PAGE}{engine.pk}/try/", follow=True)
    assert "the credential cannot be decrypted; enter it again" in parse(shown.text).words


BEFORE = {"kind": "temporal", "url": "https://a.example.org", "route": "a/b", "private": False, "disabled": False}


@pytest.mark.parametrize(
    ("before", "after", "loosens"),
    [
        (None, {}, True),
        (BEFORE, {}, False),
        (BEFORE, {"url": "https://b.example.org"}, True),
        (BEFORE, {"route": "a/c"}, True),
        (BEFORE, {"private": True}, True),
        (BEFORE, {"disabled": True}, False),
        (BEFORE | {"disabled": True, "private": True}, {"disabled": True}, False),
        (BEFORE | {"disabled": True}, {}, True),
    ],
)
def test_what_may_send_decisions_elsewhere_loosens(before, after, loosens):
    assert engine_loosens(before, BEFORE | after) is loosens
