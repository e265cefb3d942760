"""A prompt does not reach the model while a deferred call of its session waits: the call would be lost."""

from __future__ import annotations

import pytest

from approvals import actions
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest
from approvals.states import Door, Verdict
from tests.approvals.hooks.calls import BASH, CLAUDE_CODE, CODEX, PROMPT, decide, only
from tests.support.machine import Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

DEFER = f"{CLAUDE_CODE}?wait=defer"


def test_a_prompt_is_kept_back_while_the_last_call_of_its_session_waits():
    agent = Machine(alice())
    assert agent.post(CLAUDE_CODE, PROMPT).body == {}
    agent.post(DEFER, BASH)
    other = agent.post(CLAUDE_CODE, PROMPT | {"session_id": "another"})
    assert (other.status, other.body) == (200, {})
    reply = agent.post(CLAUDE_CODE, PROMPT)
    assert reply.status == 200
    assert reply.body == {
        "decision": "block",
        "reason": f"A call of this session is still waiting for a decision: {only().public_url} So this prompt was not sent, "
        "because the call would be lost. Resume the session after the decision, or cancel the request.",
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit"},
    }


@pytest.mark.parametrize("verdict", [Verdict.APPROVE, Verdict.REJECT])
def test_a_prompt_is_sent_once_the_call_is_decided(verdict):
    agent = Machine(alice())
    agent.post(DEFER, BASH)
    decide(bob(), verdict)
    assert agent.post(CLAUDE_CODE, PROMPT).body == {}


def test_only_the_last_call_of_a_message_is_resumed_so_an_earlier_one_keeps_no_prompt_back():
    agent = Machine(alice())
    agent.post(DEFER, BASH)
    agent.post(DEFER, BASH | {"tool_use_id": "toolu_0002", "tool_input": {"command": "ls"}})
    last = next(one for one in ApprovalRequest.objects.all() if one.input["command"] == "ls")
    actions.decide(last.pk, Answer(Verdict.APPROVE), by=bob(), via=Door.DASHBOARD)
    assert agent.post(CLAUDE_CODE, PROMPT).body == {}


def test_codex_has_no_such_event():
    assert Machine(alice()).post(CODEX, PROMPT).refusal == (422, "invalid")
