"""A call of a chat that two people have to approve: whichever client asked, each vote is counted, and the second runs it."""

from __future__ import annotations

import pytest

from approvals.models import ApprovalRequest, Vote
from approvals.states import Door, Verdict
from chats.models import ToolCall, Turn
from tests.support.chats.front_end import front_end, shown
from tests.support.chats.turns import run
from tests.support.desk.away import away
from tests.support.desk.requests import stored
from tests.support.desk.ruling import apply_policy
from tests.support.desk.votes import both, group, make_team, vote, votes_of, with_terms
from tests.support.machines import Client, machine
from tests.support.people import bob, make_person

pytestmark = pytest.mark.django_db(transaction=True)


def need_two(*teams) -> ApprovalRequest:
    """Let the only waiting request need two people."""
    terms = both(*(group(team) for team in teams)) if teams else both(group(votes=2))
    return with_terms(ApprovalRequest.objects.get(status="pending"), terms)


def dave():
    return make_person("dave", "decide_approvalrequest", "view_approvalrequest")


@pytest.mark.parametrize("approved", [True, False])
def test_an_ai_sdk_client_votes_and_keeps_the_card(approved):
    owner, second = bob(), dave()
    client = Client(machine(owner))
    client.say("approve refund")
    request = need_two(make_team("finance", owner), make_team("security", second))
    if not approved:
        with_terms(request, both(group(votes=1), group(make_team("board", second, dave_too()))))
    answer = client.rule(approved)
    (asked, votes) = (chunk for chunk in answer.chunks if chunk["type"] in {"tool-approval-request", "data-votes"})
    assert asked["approvalId"] == str(request.pk)
    assert (votes["transient"], votes["data"]["toolCallId"]) == (True, asked["toolCallId"])
    assert stored(request).status == "pending"
    client.read()
    assert [part["state"] for part in client.calls()] == ["approval-requested"]


def dave_too():
    return make_person("erin", "decide_approvalrequest")


@pytest.mark.shows("ai-sdk", "progress", "vote")
def test_the_second_vote_on_a_call_of_an_ai_sdk_client_runs_it():
    owner, second = bob(), dave()
    client = Client(machine(owner))
    client.say("approve refund")
    request = need_two()
    data = next(chunk for chunk in client.rule(True).chunks if chunk["type"] == "data-votes")["data"]
    assert data["progress"] == "1 of 2"
    client.read()
    assert [chunk["type"] for chunk in client.rule(True).chunks if "error" in chunk["type"]] == []
    assert (Vote.objects.count(), ToolCall.objects.get().attempt) == (1, 0)
    vote(request, second)
    run(Turn.objects.get())
    assert (stored(request).status, ToolCall.objects.get().attempt) == ("approved", 1)
    assert votes_of(request) == [("API key test of bob", "approve"), ("dave", "approve")]


TWO = {"name": "Two", "ask": {"stages": [{"groups": [{"votes": 2}]}], "with_requester": True}, "then": "ask"}


def test_an_ai_sdk_client_is_told_with_the_approval_and_when_others_vote():
    owner, second = bob(), dave()
    apply_policy(TWO)
    client = Client(machine(owner))
    chunks = client.say("approve refund").chunks
    asked = next(number for number, chunk in enumerate(chunks) if chunk["type"] == "tool-approval-request")
    data = {"toolCallId": chunks[asked]["toolCallId"], "progress": "0 of 2"}
    assert chunks[asked + 1] == {"type": "data-votes", "data": data, "transient": True}
    assert [one["progress"] for one in client.read()["pending"]] == ["0 of 2"]
    vote(ApprovalRequest.objects.get(), second)
    assert [one["progress"] for one in client.read()["pending"]] == ["1 of 2"]


def test_what_one_person_decides_has_no_progress():
    client = Client(machine(bob()))
    assert [chunk for chunk in client.say("approve refund").chunks if chunk["type"] == "data-votes"] == []
    assert [one["progress"] for one in client.read()["pending"]] == [None]


def test_a_cedar_front_end_reads_the_progress_of_what_is_suspended():
    owner, second = bob(), dave()
    apply_policy(TWO)
    page = front_end(owner)
    assert page.paused("approve payment")["metadata"]["progress"] == "0 of 2"
    vote(ApprovalRequest.objects.get(), second)
    listed = page.machine.get("/chat/suspended?threadId=thread-1").json["object"]
    assert [one["metadata"]["progress"] for one in listed] == ["1 of 2"]


@pytest.mark.shows("cedar", "progress", "vote")
def test_a_cedar_front_end_is_told_that_its_vote_is_counted():
    owner, second = bob(), dave()
    page = front_end(owner)
    suspended = page.paused("approve payment")
    request = need_two(make_team("finance", owner), make_team("security", second))
    answer = page.resume(suspended, {"approved": True})
    assert "Your vote is counted: 1 of 2, security missing. Others have to decide too." in str(shown(answer))
    assert stored(request).status == "pending"
    vote(request, second)
    assert stored(request).status == "approved"


def test_one_person_does_not_vote_twice_through_a_chat_and_a_page():
    owner = bob()
    client = Client(machine(owner))
    client.say("approve refund")
    request = need_two()
    client.rule(True)
    assert vote(request, owner, via=Door.CHAT).replayed is True
    assert (stored(request).status, votes_of(request)) == ("pending", [("API key test of bob", "approve")])
    vote(request, owner, Verdict.REJECT)
    assert votes_of(request) == [("bob", "reject")]


def test_the_owner_of_a_chat_decides_for_no_one_else_about_their_own_agent():
    absent, owner = bob(), dave()
    client, page = Client(machine(owner)), front_end(owner)
    away(absent, owner)
    client.say("approve refund")
    first = with_terms(ApprovalRequest.objects.get(), both(group(absent)))
    refused = client.rule(True)
    suspended = page.paused("approve payment")
    second = with_terms(ApprovalRequest.objects.exclude(pk=first.pk).get(), both(group(absent)))
    told = page.resume(suspended, {"approved": True}, stream=False)
    assert (refused.status, refused.code, told.status, told.code) == (403, "not_allowed", 403, "not_allowed")
    assert (Vote.objects.count(), stored(first).status, stored(second).status) == (0, "pending", "pending")
