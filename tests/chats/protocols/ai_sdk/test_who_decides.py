"""The deciders through an AI SDK client, and their recorded names."""

from __future__ import annotations

import pytest
from django.test import Client as Browser

from approvals.access import callers
from approvals.access.standing import standing_of
from approvals.models import ApprovalRequest, AuditEntry, Decision
from chats.models import ToolCall
from tests.support import people
from tests.support.machines import Client, Machine, machine

pytestmark = pytest.mark.django_db(transaction=True)


def paused(text: str, caller: Machine) -> Client:
    client = Client(caller)
    client.say(text)
    return client


def test_an_owner_who_may_decide_can_approve_their_own_agents_call():
    client = paused("approve refund", machine(people.bob()))
    assert client.rule(True, "Go.").status == 200
    decision = Decision.objects.get()
    assert (decision.verdict, decision.by_name, decision.via) == ("approve", "API key test of bob", "ai-sdk")
    assert ToolCall.objects.get().attempt == 1


def test_an_owner_who_may_not_decide_can_answer_but_approve_nothing():
    alice = people.alice()
    refused = paused("approve refund", machine(alice)).rule(True)
    assert (refused.status, refused.code, ApprovalRequest.objects.get().status) == (403, "not_allowed", "pending")
    client = Client(machine(alice), "c2")
    client.say("ask")
    assert client.answer("yes").status == 200
    (entry,) = AuditEntry.objects.filter(event="tool.result", actor_id=alice.pk)
    assert entry.actor_name == "API key test of alice"


@pytest.mark.parametrize("approved", [True, False])
def test_a_critical_request_can_only_be_decided_on_its_page(approved):
    client = paused("approve refund", machine(people.bob()))
    ApprovalRequest.objects.update(priority="critical")
    link = ApprovalRequest.objects.get().public_url
    refused = client.rule(approved)
    assert (refused.status, refused.code, refused.json["url"]) == (403, "decide_on_page", link)
    assert refused.json["detail"].endswith(link)
    assert (ApprovalRequest.objects.get().status, client.read()["status"]) == ("pending", "suspended")


def test_a_session_token_acts_as_its_person():
    bob, browser = people.bob(), Browser()
    browser.force_login(bob)
    session = callers.Caller(
        user=bob, standing=standing_of(bob), scopes=callers.ALL, session_key=browser.session.session_key
    )
    token = callers.client_token(session, thread="c1")
    paused("approve refund", Machine(token)).rule(False)
    assert Decision.objects.get().by_name == "bob"


def test_the_audit_log_names_the_key_that_stopped_a_turn():
    client = paused("ask", machine(people.bob()))
    assert client.machine.post(f"{client.address}/stop", None).json == {"stopped": True}
    stopped = AuditEntry.objects.filter(event__in=["turn.stopped", "request.cancelled", "tool.result"])
    assert {entry.actor_name for entry in stopped} == {"API key test of bob"}
    assert stopped.count() == 3
