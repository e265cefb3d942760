"""Advice over REST: its effect, the right to give it, and that it never decides or lowers a priority."""

from __future__ import annotations

import pytest

from approvals.access.callers import SCOPES
from approvals.models import ApprovalRequest, OutboxEvent, Workflow
from approvals.states import Priority
from tests.support.desk.requests import events, waits
from tests.support.machine import APPROVAL, QUESTION, Machine, Reply
from tests.support.people import alice, bob, carol, mallory

pytestmark = pytest.mark.django_db

CLOSER = {"hint": "look_closer", "text": "The IBAN is new."}


def advise(machine: Machine, request: dict[str, object], body: object = CLOSER) -> Reply:
    return machine.post(f"/requests/{request['id']}/advice", body)


@pytest.mark.shows("rest", "advice")
def test_advice_is_stored_and_shown_with_the_request():
    agent, reviewer = Machine(alice()), Machine(carol(), ("advise",))
    request = agent.ask()
    given = advise(reviewer, request)
    expected = {
        "id": given.body["id"],
        "by": "API key a machine of carol",
        "hint": "look_closer",
        "text": "The IBAN is new.",
        "raised_from": None,
        "raised_to": None,
        "more_votes": None,
        "at": given.body["at"],
    }
    assert (given.status, given.body) == (201, expected)
    shown = agent.get(f"/requests/{request['id']}").body
    assert (shown["advice"], shown["priority"], shown["status"]) == ([expected], "normal", "pending")


@pytest.mark.parametrize("before", Priority.values)
@pytest.mark.parametrize("wanted", Priority.values)
def test_a_priority_is_raised_and_never_lowered(before: str, wanted: str):
    order = ["low", "normal", "high", "critical"]
    agent, reviewer = Machine(alice()), Machine(carol(), ("advise",))
    request = agent.ask(priority=before)
    given = advise(reviewer, request, CLOSER | {"raise_priority": wanted}).body
    raises = order.index(wanted) > order.index(before)
    assert (given["raised_from"], given["raised_to"]) == ((before, wanted) if raises else (None, None))
    stored = ApprovalRequest.objects.get()
    expected = max(before, wanted, key=order.index)
    assert (stored.priority, 3 - stored.urgency) == (expected, order.index(expected))
    assert stored.asked_priority == (before if raises else None)
    assert waits(Workflow.objects.get()) == ("suspended", 1, stored.urgency, True)
    (entry,) = [entry for entry in events(stored) if entry == "request.advised"]
    assert entry


def test_a_request_that_advice_made_critical_is_decided_on_its_page_alone():
    agent, reviewer, decider = Machine(alice()), Machine(carol(), ("advise",)), Machine(bob())
    request = agent.ask()
    advise(reviewer, request, CLOSER | {"raise_priority": "critical"})
    assert decider.decide(request, "approve").refusal == (403, "decide_on_page")


def test_the_same_advice_of_a_key_is_stored_once():
    request = Machine(alice()).ask()
    reviewer, other = Machine(carol(), ("advise",)), Machine(bob(), ("advise",))
    first, again = advise(reviewer, request), advise(reviewer, request)
    assert (again.status, again.replayed, again.body) == (200, True, first.body)
    assert [advise(other, request).status, advise(reviewer, request, CLOSER | {"hint": "looks_fine"}).status] == [
        201,
        201,
    ]
    assert events(ApprovalRequest.objects.get()) == ["request.created", *["request.advised"] * 3]


def test_a_request_takes_ten_pieces_of_advice():
    request, reviewer = Machine(alice()).ask(), Machine(carol(), ("advise",))
    given = [advise(reviewer, request, CLOSER | {"text": f"Reason {number}"}) for number in range(11)]
    assert [reply.status for reply in given] == [201] * 10 + [409]
    assert given[10].refusal == (409, "conflict")
    assert advise(reviewer, request, CLOSER | {"text": "Reason 3"}).replayed


def test_a_request_that_has_ended_takes_no_advice():
    agent, reviewer, decider = Machine(alice()), Machine(carol(), ("advise",)), Machine(bob())
    request = agent.ask()
    decider.decide(request, "approve")
    refused = advise(reviewer, request)
    assert (refused.refusal, refused.body["decision"]["by"]) == (
        (409, "already_decided"),
        "API key a machine of bob",
    )


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"hint": "looks_fine"}, 422),
        ({"text": "Fine."}, 422),
        (CLOSER | {"text": ""}, 422),
        (CLOSER | {"text": " \n "}, 422),
        (CLOSER | {"text": "x" * 5001}, 422),
        (CLOSER | {"text": "a\x00b"}, 400),
        (CLOSER | {"text": 5}, 422),
        (CLOSER | {"hint": "approve"}, 422),
        (CLOSER | {"raise_priority": "urgent"}, 422),
        (CLOSER | {"verdict": "approve"}, 422),
        *((CLOSER | {"more_votes": number}, 422) for number in (0, 4, -1, 1.5, "1", True)),
        ([], 422),
    ],
)
def test_bad_advice_is_refused_and_stores_nothing(body: object, status: int):
    request, reviewer = Machine(alice()).ask(), Machine(carol(), ("advise",))
    assert advise(reviewer, request, body).refusal[0] == status
    assert ApprovalRequest.objects.get().advised is None


def test_advice_needs_its_scope_a_reader_and_another_key():
    asker = Machine(alice())
    request = asker.ask()
    others = tuple(scope for scope in SCOPES if scope != "advise")
    assert advise(Machine(carol(), others), request).refusal == (403, "scope_missing")
    assert advise(Machine(mallory()), request).refusal == (404, "not_found")
    assert advise(asker, request).refusal == (403, "not_allowed")
    assert advise(Machine(asker.key.user, ("advise",)), request).status == 201


def test_people_write_notes_and_no_advice():
    request, browser = Machine(alice()).ask(QUESTION), Machine()
    browser.client.force_login(bob())
    browser.client.cookies["csrftoken"] = token = "a" * 32
    refused = browser.post(f"/requests/{request['id']}/advice", CLOSER, x_csrftoken=token)
    assert refused.refusal == (403, "not_allowed")


def test_events_say_what_was_advised_and_not_why(settings):
    settings.HITL_EVENT_HANDLERS = ["tests.approvals.outbound.test_outbox.count"]
    request, reviewer = Machine(alice()).ask(APPROVAL), Machine(carol(), ("advise",))
    advise(reviewer, request, CLOSER | {"raise_priority": "high"})
    sent = OutboxEvent.objects.get(name="request.advised").payload
    assert {name: sent.get(name) for name in ("request_id", "hint", "priority", "by", "text")} == {
        "request_id": request["id"],
        "hint": "look_closer",
        "priority": "high",
        "by": "API key a machine of carol",
        "text": None,
    }
