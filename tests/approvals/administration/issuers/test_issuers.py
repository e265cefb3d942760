"""The pages of token issuers and their mappings: a second administrator confirms what loosens, on record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from approvals.models import ApiKey, AuditEntry, PendingChange, TokenIssuer
from approvals.policy.loosening import issuer_loosens
from hitlsite.health.metrics import Metrics
from hitlsite.health.sign_in import token_issuers
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.desk.token_issuer import AUDIENCE, add_issuer, map_tokens, program
from tests.support.desk.waiting_changes import confirm, waiting_change
from tests.support.markup import parse
from tests.support.openid_provider import Provider
from tests.support.people import alice

pytestmark = pytest.mark.django_db
PAGE = "/settings/token-issuers/"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def ann() -> User:
    return administrator("ann")


def issuer_form(provider: Provider, **changes: Any) -> dict[str, Any]:
    usual = {"name": "Corp", "issuer": provider.issuer, "audience": AUDIENCE, "algorithms": ["ES256"], "private": "on"}
    return {name: value for name, value in (usual | changes).items() if value is not None}


MAPPING = {
    "name": "billing agent",
    "claim": "client_id",
    "value": "billing",
    "user": "alice",
    "scopes": ["ask", "read"],
}


def errors(response: Any) -> list[str]:
    page = parse(response.text)
    return [each.words for name in ("refusal", "field-error") for each in page.find("p", class_=name)]


def events() -> list[tuple[str, str]]:
    shown = AuditEntry.objects.exclude(event__startswith="login").order_by("pk")
    return [
        (entry.event, entry.data.get("change") or entry.data.get("of") or entry.data.get("name")) for entry in shown
    ]


def test_an_administrator_adds_an_issuer_and_a_mapping_and_takes_them_back(provider, ann):
    alice()
    client = browser(ann)
    assert "No issuers. Programs use API keys." in parse(client.get(PAGE).text).words
    assert client.post(PAGE, issuer_form(provider)).status_code == 302
    issuer = TokenIssuer.objects.get()
    own = f"{PAGE}{issuer.pk}/"
    assert client.post(f"{own}mappings/", MAPPING).status_code == 302
    mapping = ApiKey.objects.get()
    agent = program(provider)
    assert agent.get("/requests").status == 200
    words = parse(client.get(own).text).words
    assert all(part in words for part in ("client_id = billing", "acts for alice", "ask, read", "from 127.0.0.1"))
    # It is no key that people rotate or revoke on the page of keys.
    assert parse(client.get("/settings/keys/").text).find("a", class_="row-title") == []
    assert client.get(f"/settings/keys/{mapping.pk}/").status_code == 404
    assert client.post(f"{own}switch/").status_code == 302
    assert agent.get("/requests").status == 401
    assert client.post(f"{own}switch/").status_code == 302
    assert agent.get("/requests").status == 200
    assert client.post(f"/settings/token-mappings/{mapping.pk}/remove/").status_code == 302
    assert agent.get("/requests").status == 401
    assert events() == [
        ("token_issuer.changed", "issuer added"),
        ("change.alone", "token_issuer"),
        ("key.created", "billing agent"),
        ("change.alone", "token_mapping"),
        ("token_issuer.changed", "issuer changed"),
        ("token_issuer.changed", "issuer changed"),
        ("change.alone", "token_issuer"),
        ("key.revoked", "billing agent"),
    ]
    created = AuditEntry.objects.get(event="key.created").data
    assert (created["issuer"], created["claim"], created["value"]) == (provider.issuer, "client_id", "billing")


def test_another_administrator_confirms_an_issuer_and_a_mapping_that_they_read_in_words(provider, ann):
    dora = administrator("dora")
    alice()
    client = browser(ann)
    client.post(PAGE, issuer_form(provider))
    assert TokenIssuer.objects.count() == 0
    page = parse(browser(dora).get(PAGE).text)
    assert page.find("ul", class_="pending-changes")[0].find("a")[0].words == (
        f"Accept tokens of Corp ({provider.issuer}), like this:"
    )
    confirm(waiting_change(), dora)
    issuer = TokenIssuer.objects.get()
    client.post(f"{PAGE}{issuer.pk}/mappings/", MAPPING)
    assert ApiKey.objects.count() == 0
    page = parse(browser(dora).get("/settings/changes/").text)
    assert page.find("ul", class_="pending-changes")[0].find("a")[0].words == (
        f"Let tokens of {provider.issuer} in which client_id is “billing” act for alice with these scopes: ask, read"
    )
    confirm(waiting_change(), dora)
    mapping = ApiKey.objects.get()
    assert (mapping.made_by, mapping.secret_hash, mapping.expires_at) == (ann, "", None)
    # What ends something needs no one else.
    client.post(f"{PAGE}{issuer.pk}/switch/")
    client.post(f"/settings/token-mappings/{mapping.pk}/remove/")
    assert PendingChange.objects.count() == 0
    client.post(f"{PAGE}{issuer.pk}/switch/")
    assert waiting_change().kind == "token_issuer"


BEFORE = {"audience": "a", "keys_url": "", "algorithms": ["ES256"], "scoped": True, "any_type": False, "private": False}
BEFORE |= {"disabled": False}


@pytest.mark.parametrize(
    ("change", "loosens"),
    [
        ({"name": "Other"}, False),
        ({"algorithms": []}, False),
        ({"disabled": True}, False),
        ({"audience": "b"}, True),
        ({"keys_url": "https://evil.example"}, True),
        ({"algorithms": ["ES256", "RS256"]}, True),
        ({"scoped": False}, True),
        ({"any_type": True}, True),
        ({"private": True}, True),
    ],
)
def test_what_lets_in_more_tokens_loosens(change, loosens):
    assert issuer_loosens(BEFORE, BEFORE | change) == loosens
    assert issuer_loosens(BEFORE | {"disabled": True}, BEFORE)
    assert issuer_loosens(None, BEFORE)


def test_an_issuer_that_cannot_be_used_is_refused_in_words_and_the_form_keeps_its_input(provider, ann):
    client = browser(ann)
    refused = {
        "must start with https://": issuer_form(provider, private=None),
        "This field is required.": issuer_form(provider, audience=""),
        "Select a valid choice. HS256": issuer_form(provider, algorithms=["HS256"]),
        "it names another issuer": issuer_form(provider, issuer=f"{provider.issuer}/"),
        "points to 169.254.169.254": issuer_form(provider, keys_url="http://169.254.169.254/"),
    }
    for words, sent in refused.items():
        response = client.post(PAGE, sent)
        assert response.status_code == 422
        assert [error for error in errors(response) if words in error] != [], (words, errors(response))
        assert sent["issuer"] in response.text
    add_issuer(provider)
    assert errors(client.post(PAGE, issuer_form(provider))) == ["This issuer exists already."]
    provider.answers["/jwks"] = (500, b"")
    assert "Pausepoint cannot read the keys of this issuer: " in errors(client.post(PAGE, issuer_form(provider)))[0]


def test_a_mapping_for_no_one_or_of_a_value_that_is_mapped_is_refused(provider, ann):
    issuer = add_issuer(provider)
    map_tokens(issuer, alice())
    superuser = User.objects.create_superuser("root")
    client = browser(ann)
    refused = {
        "This claim and value are mapped already. Remove that first.": MAPPING,
        "No active person has this username.": MAPPING | {"user": "nobody"},
        "Select a valid choice. decide is not one of the available choices.": MAPPING | {"scopes": ["decide"]},
        "Only a superuser can change": MAPPING | {"user": superuser.username, "value": "x"},
    }
    for words, sent in refused.items():
        response = client.post(f"{PAGE}{issuer.pk}/mappings/", sent)
        assert response.status_code == 422
        assert [error for error in errors(response) if words in error] != [], (words, errors(response))


def test_the_system_page_and_the_metrics_say_whether_the_keys_can_be_read(provider):
    assert [part.summary for part in token_issuers()] == ["None: programs use API keys"]
    add_issuer(provider)
    assert [(part.state, part.summary) for part in token_issuers()] == [("ok", f"Corp ({provider.issuer}) answers")]
    assert 'pausepoint_token_issuers{state="readable"} 1.0' in Metrics().text().decode()
    TokenIssuer.objects.update(problem="it publishes no usable keys")
    assert [(part.state, part.advice) for part in token_issuers()] == [("warn", "it publishes no usable keys")]
    assert 'pausepoint_token_issuers{state="unreadable"} 1.0' in Metrics().text().decode()
