"""Assigning and commenting over REST: permissions, scopes and refusals."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from approvals import actions
from approvals.models import ApprovalRequest
from approvals.states import Door, Kind, Verdict
from tests.support.desk.requests import PAST, decide, make_request
from tests.support.machine import Machine
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db


def at(request: ApprovalRequest, action: str) -> str:
    return f"/requests/{request.pk}/{action}"


def test_a_request_can_be_assigned_to_oneself_and_unassigned():
    request, by = make_request(alice()), bob()
    machine = Machine(by)
    taken = machine.post(at(request, "claim"), {})
    assert (taken.status, taken.body) == (
        200,
        {
            "request_id": str(request.pk),
            "assigned_to": None,
            "claimed_by": "API key a machine of bob",
            "claimed_until": taken.body["claimed_until"],
        },
    )
    shown = machine.get(f"/requests/{request.pk}").body
    assert (shown["claimed_by"], shown["claimed_until"]) == (taken.body["claimed_by"], taken.body["claimed_until"])
    assert machine.post(at(request, "release"), {}).body["claimed_by"] is None
    assert machine.get(f"/requests/{request.pk}").body["claimed_by"] is None


def test_taking_an_assigned_request_names_its_holder_and_needs_their_name():
    request, by, other = make_request(alice()), bob(), make_person("dora", "decide_approvalrequest")
    actions.claim(request.pk, by=by, via=Door.DASHBOARD)
    machine = Machine(other)
    refused = machine.post(at(request, "claim"), {})
    assert refused.refusal == (409, "taken")
    assert (refused.body["claimed_by"], refused.body["assigned_to"]) == ("bob", None)
    assert machine.post(at(request, "release"), {}).refusal == (409, "taken")
    assert machine.post(at(request, "claim"), {"over": "bob"}).body["claimed_by"] == "API key a machine of dora"


def test_a_request_can_be_assigned_to_somebody_and_back_to_everybody():
    request, by, to = make_request(alice(), Kind.QUESTION), bob(), mallory()
    machine = Machine(by)
    assert machine.post(at(request, "assign"), {"to": "mallory"}).body["assigned_to"] == "mallory"
    refused = machine.post(at(request, "assign"), {"to": "bob"})
    assert (refused.refusal, refused.body["assigned_to"]) == ((409, "taken"), "mallory")
    theirs = Machine(to)
    assert theirs.get(f"/requests/{request.pk}").status == 200
    handed = theirs.post(at(request, "assign"), {"to": None, "instead_of": "mallory"})
    assert (handed.status, handed.body["assigned_to"]) == (200, None)
    assert theirs.get(f"/requests/{request.pk}").refusal == (404, "not_found")


@pytest.mark.parametrize(
    "body", [{}, {"to": ""}, {"to": 5}, {"to": "x" * 200}, {"to": "nobody"}, {"to": "bob", "more": 1}, {"to": "a\x00b"}]
)
def test_an_assignment_without_a_person_is_refused(body):
    status, _ = Machine(bob()).post(at(make_request(alice()), "assign"), body).refusal
    assert status in {400, 422}


def test_comments_can_be_posted_and_read_page_by_page():
    owner, by = alice(), bob()
    request, agent, machine = make_request(owner), Machine(owner, ("ask", "read")), Machine(by, ("decide", "read"))
    first = agent.post(at(request, "comments"), {"text": "It is **urgent**."})
    assert (first.status, first.body) == (
        201,
        {
            "id": first.body["id"],
            "by": "API key a machine of alice",
            "via": "rest",
            "text": "It is **urgent**.",
            "at": first.body["at"],
        },
    )
    second = machine.post(at(request, "comments"), {"text": "I see."})
    newest = agent.get(at(request, "comments?limit=1")).body
    assert newest == {"items": [second.body], "next": second.body["id"]}
    assert agent.get(at(request, f"comments?before={newest['next']}")).body == {"items": [first.body], "next": None}


def test_scopes_and_permissions_are_required():
    owner, by = alice(), bob()
    request = make_request(owner)
    reader, asker, auditor, stranger = (
        Machine(by, ("read",)),
        Machine(by, ("ask", "read")),
        Machine(carol()),
        Machine(mallory()),
    )
    for action, body in (("claim", {}), ("release", {}), ("assign", {"to": "bob"})):
        assert asker.post(at(request, action), body).refusal == (403, "scope_missing")
        assert auditor.post(at(request, action), body).refusal == (403, "not_allowed")
        assert stranger.post(at(request, action), body).refusal == (404, "not_found")
        assert reader.post(f"/requests/{uuid4()}/{action}", body).refusal == (403, "scope_missing")
    assert reader.post(at(request, "comments"), {"text": "Hm."}).refusal == (403, "scope_missing")
    assert auditor.post(at(request, "comments"), {"text": "Hm."}).refusal == (403, "not_allowed")
    assert stranger.post(at(request, "comments"), {"text": "Hm."}).refusal == (404, "not_found")
    assert stranger.get(at(request, "comments")).refusal == (404, "not_found")
    assert auditor.get(at(request, "comments")).body == {"items": [], "next": None}


def test_refusals_for_ended_requests_say_how_they_ended():
    owner, by = alice(), bob()
    decided, overdue = make_request(owner), make_request(owner, deadline_at=PAST)
    decide(decided, by, Verdict.REJECT)
    machine = Machine(by)
    for action, body in (("claim", {}), ("release", {}), ("assign", {"to": "alice"})):
        refused = machine.post(at(decided, action), body)
        assert (refused.refusal, refused.body["decision"]["verdict"]) == ((409, "already_decided"), "reject")
        assert machine.post(at(overdue, action), body).refusal == (410, "expired")


def test_a_session_needs_its_csrf_token_here_too(client):
    by = bob()
    client = type(client)(enforce_csrf_checks=True)
    client.force_login(User.objects.get(pk=by.pk))
    request = make_request(alice())
    answer = client.post(f"/api/v1/requests/{request.pk}/claim", "{}", content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "csrf")
