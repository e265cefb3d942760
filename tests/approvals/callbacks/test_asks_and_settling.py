"""Requests name an engine and an id; people settle what became of a decision on the page of its request."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from approvals.models import ApprovalRequest, AuditEntry, EngineConnection, OutboxEvent
from approvals.queries.engines import callback_of
from approvals.states import Verdict
from hitlsite.health.channels import engines
from hitlsite.health.metrics import Metrics
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.carrying import carry, later
from tests.support.desk.engines import make_engine, make_waiting, serve
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, stored
from tests.support.machine import APPROVAL, Machine
from tests.support.markup import parse
from tests.support.people import alice, bob
from tests.support.receiver import document

pytestmark = pytest.mark.django_db(transaction=True)

CALLBACK = {"to": "prod-temporal", "id": "refund-4711"}


def test_a_request_names_an_engine_and_the_id_that_waits_there():
    make_engine("temporal", "https://temporal.example.org")
    agent = Machine(alice())
    reply = agent.post("/requests", APPROVAL | {"callback": CALLBACK})
    assert (reply.status, reply.body["callback"], reply.body["callback_url"]) == (201, CALLBACK, None)
    assert ApprovalRequest.objects.get().callback == CALLBACK
    card = parse(browser(bob()).get(f"/requests/{reply.body['id']}/").text).find("p", class_="callback")
    assert [each.words for each in card] == ["The decision is sent to the engine prod-temporal refund-4711"]


@pytest.mark.parametrize(
    ("fields", "member", "words"),
    [
        ({"callback": {"to": "other", "id": "x"}}, "callback.to", "is no engine here; an administrator adds it under Engines"),
        ({"callback": CALLBACK | {"id": "a/../b"}}, "callback.id", "is no id of this engine, such as refund-4711"),
        ({"callback": CALLBACK | {"id": ".."}}, "callback.id", "is no id of this engine, such as refund-4711"),
        ({"callback": CALLBACK | {"id": "a\r\nHost: b"}}, "callback.id", "is no id of this engine, such as refund-4711"),
        ({"callback": CALLBACK, "callback_url": "https://agents.example.org/"}, "callback",
         "send a callback or a callback_url, not both"),
    ],
)  # fmt: skip
def test_a_callback_that_cannot_work_is_refused_at_the_ask(fields, member, words):
    make_engine("temporal", "https://temporal.example.org")
    reply = Machine(alice()).post("/requests", APPROVAL | fields)
    assert (reply.status, reply.body["errors"]) == (422, {member: words})
    assert ApprovalRequest.objects.count() == 0


def test_a_disabled_engine_takes_no_new_requests():
    make_engine("temporal", "https://temporal.example.org", disabled_at=timezone.now())
    reply = Machine(alice()).post("/requests", APPROVAL | {"callback": CALLBACK})
    assert reply.body["errors"] == {"callback.to": "is disabled; an administrator can enable it"}


def test_a_callback_that_is_no_object_is_refused_in_words():
    reply = Machine(alice()).post("/requests", APPROVAL | {"callback": "prod-temporal"})
    assert reply.body["errors"] == {"callback": "Input should be an object"}


@pytest.mark.parametrize(
    "callback", [{"to": "prod-temporal"}, {"id": "x"}, {"to": "", "id": "x"}, "x", CALLBACK | {"url": "x"}]
)
def test_a_malformed_callback_is_refused(callback):
    make_engine("temporal", "https://temporal.example.org")
    assert Machine(alice()).post("/requests", APPROVAL | {"callback": callback}).status == 422


def state(request: Any) -> str:
    shown = callback_of(stored(request))
    assert shown is not None
    return shown.state.value


def settle(person: Any, request: ApprovalRequest, what: str) -> str:
    return parse(browser(person).post(f"/requests/{request.pk}/callback/", {"what": what}, follow=True).text).words


def unknown() -> tuple[ApprovalRequest, Any]:
    """A request whose decision may have reached its engine."""
    decider = bob()
    with serve(lambda got: document(409, {})) as there:
        request = make_waiting(make_engine("restate", there.url("")), alice())
        decide(request, decider, Verdict.APPROVE)
        OutboxEvent.objects.update(uncertain=True)
        carry()
    return request, decider


def settled() -> list[Any]:
    entries = AuditEntry.objects.filter(event="callback.settled").order_by("pk")
    return [(entry.actor_name, entry.data["outcome"]) for entry in entries]


def test_people_say_that_an_unknown_decision_arrived():
    request, decider = unknown()
    words = parse(browser(decider).get(f"/requests/{request.pk}/").text).words
    assert "It is unknown whether the engine has the decision:" in words
    assert [part.summary for part in engines()] == ["It is unknown whether it has a decision"]
    assert 'pausepoint_engine_decisions{state="unknown"} 1.0' in Metrics().text().decode()
    assert "The engine has the decision." in settle(decider, request, "arrived")
    assert (state(request), settled()) == ("taken", [("bob", "arrived")])
    # A second press, or another person's, changes nothing.
    assert "This delivery has changed meanwhile." in settle(decider, request, "not_arrived")
    assert (state(request), len(settled())) == ("taken", 1)


def test_a_decision_that_did_not_arrive_is_sent_again():
    request, decider = unknown()
    assert "The engine did not take the decision:" in settle(decider, request, "not_arrived")
    with serve(lambda got: document(200, {})) as there:
        EngineConnection.objects.update(url=there.url(""))
        settle(decider, request, "send")
        assert state(request) == "waiting"
        later()
        carry()
    assert (state(request), len(there.got)) == ("taken", 1)
    assert settled() == [("bob", "not_arrived"), ("bob", "send")]


def test_only_deciders_and_administrators_settle_a_delivery():
    request, _decider = unknown()
    requester = request.requested_by
    page = parse(browser(requester).get(f"/requests/{request.pk}/").text)
    assert page.find("button", name="what") == []
    assert browser(requester).post(f"/requests/{request.pk}/callback/", {"what": "arrived"}).status_code == 403
    assert (state(request), settled()) == ("unknown", [])
    root = administrator()
    seen = browser(root).post(f"/requests/{request.pk}/callback/", {"what": "nonsense"}, follow=True)
    assert seen.status_code in {200, 404}
    assert settled() == []


def test_the_page_of_an_engine_lists_its_deliveries():
    request, _decider = unknown()
    root = administrator()
    page = parse(browser(root).get(f"/settings/engines/{EngineConnection.objects.get().pk}/").text)
    (row,) = page.find("table", class_="deliveries")[0].find("tr")[1:]
    assert (str(request.pk)[:8] in row.words, "Unknown" in row.words) == (True, True)
