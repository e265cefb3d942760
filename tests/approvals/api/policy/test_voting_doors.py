"""Requests that were asked through the other protocols need as many people, and their programs are told how far it is."""

from __future__ import annotations

import pytest

from approvals.api.mcp import calls
from approvals.models import ApprovalRequest, OutboxEvent
from approvals.states import Channel
from tests.approvals.api.mcp.agent import REFUND, WRITE, Agent
from tests.approvals.hooks.calls import BASH, CODEX_BASH
from tests.support.desk.carrying import make_endpoint
from tests.support.desk.requests import stored
from tests.support.desk.votes import both, group, make_team, make_voted, vote, with_terms
from tests.support.machines import machine
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    for name in ("WAIT", "ROUND", "PATIENCE"):
        monkeypatch.setattr(calls, name, 0.0)


@pytest.fixture
def deciders():
    return [bob(), make_person("dave", "decide_approvalrequest", "view_approvalrequest")]


@pytest.fixture
def terms(deciders):
    return both(
        *(group(make_team(name, person)) for name, person in zip(["finance", "security"], deciders, strict=True))
    )


def only() -> ApprovalRequest:
    return ApprovalRequest.objects.get()


@pytest.mark.shows("mcp", "progress")
def test_a_model_that_asked_over_mcp_is_told_how_far_it_is(deciders, terms):
    agent = Agent(alice())
    asked = agent.call("request_approval", REFUND).outcome
    with_terms(only(), terms)
    vote(only(), deciders[0])
    seen = agent.call("check_request", {"request_id": asked["request_id"]}).outcome
    assert (seen["status"], seen["votes"]) == ("pending", "Votes: 1 of 2, security missing.")
    vote(only(), deciders[1])
    seen = agent.call("check_request", {"request_id": asked["request_id"]}).outcome
    assert (seen["status"], "votes" in seen) == ("approved", False)


def test_a_permission_prompt_is_denied_with_how_far_it_is(deciders, terms):
    agent = Agent(alice())
    agent.call("permission", WRITE)
    with_terms(only(), terms)
    vote(only(), deciders[0])
    denied = agent.call("permission", WRITE).value
    assert (denied["behavior"], "Votes: 1 of 2, security missing." in denied["message"]) == ("deny", True)


@pytest.mark.shows("claude-code", "progress")
@pytest.mark.shows("codex", "progress")
@pytest.mark.parametrize(("agent", "body"), [("claude-code", BASH), ("codex", CODEX_BASH)])
def test_a_hook_denies_until_both_have_approved(deciders, terms, agent, body):
    caller, address = machine(alice()), f"/api/v1/hooks/{agent}?wait=0.1"
    caller.post(address, body)
    with_terms(only(), terms)
    vote(only(), deciders[0])
    assert "Votes: 1 of 2, security missing." in caller.post(address, body).text
    vote(only(), deciders[1])
    assert "Votes:" not in caller.post(address, body).text
    assert stored(only()).status == "approved"


def test_every_vote_is_an_event_of_webhooks(deciders, terms):
    request = make_voted(alice(), terms)
    make_endpoint("https://example.org/hook", events=["request.voted", "request.decided"])
    vote(request, deciders[0], comment="Paid.")
    vote(request, deciders[1])
    rows = OutboxEvent.objects.filter(channel=Channel.WEBHOOK).order_by("pk")
    assert [(row.name, row.payload["by"], row.payload["status"]) for row in rows] == [
        ("request.voted", "bob", "pending"),
        ("request.voted", "dave", "pending"),
        ("request.decided", "dave", "approved"),
    ]
    assert (rows[0].payload["verdict"], rows[0].payload["comment"]) == ("approve", "Paid.")
