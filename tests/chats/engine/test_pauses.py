"""Turns that wait for people: once, twice and in parallel, and the effect of each answer."""

from __future__ import annotations

import json

import pytest

from approvals import actions as desk
from approvals.models import AuditEntry, Decision
from approvals.states import Door, Verdict
from chats.queries import open_requests
from tests.support import people
from tests.support.chats import agents
from tests.support.chats.turns import (
    checkpoints_of,
    converse,
    decide,
    folded,
    kinds,
    last_text,
    model_history,
    only_request,
    overdue,
    parts,
    reload,
    results_on_record,
    run,
    say,
    shape,
    tool_parts,
)

pytestmark = pytest.mark.django_db(transaction=True)
EXPRESS = {"fieldName": "delivery", "selected": ["Express"], "selectedIndex": 1}


@pytest.fixture
def oddball(settings):
    settings.HITL_AGENTS = [agents.PATH]
    agents.ran.clear()


def results_for_model(turn):
    """Return the tool results in the last request to the model."""
    return [b["content"] for m in model_history(reload(turn)) for b in m.content if b["type"] == "tool_result"]


def test_a_question_suspends_the_turn_and_the_answer_continues_its_message():
    alice = people.alice()
    turn = converse(alice, "ask")
    assert (turn.state, turn.finish_reason, shape(turn)) == (
        "suspended",
        "tool-calls",
        ["step-start", "text", "input-available"],
    )
    before = parts(turn)
    decide(only_request(turn), alice, Verdict.RESPOND, answer=EXPRESS)
    turn = run(turn)
    assert (turn.state, turn.finish_reason) == ("completed", "stop")
    assert shape(turn) == ["step-start", "text", "output-available", "step-start", "text"]
    assert parts(turn)[:2] == before[:2]
    assert (tool_parts(turn)[0]["output"], tool_parts(turn)[0]["input"]) == (EXPRESS, before[2]["input"])
    assert last_text(turn) == "Thank you, you chose Express. I will arrange that."
    assert turn.chat.messages.count() == 2
    assert kinds(turn) == ["partial", "final"]
    assert set(results_on_record(turn).values()) == {1}


def test_a_turn_may_ask_twice():
    alice = people.alice()
    turn = converse(alice, "ask twice")
    for answer in (EXPRESS, {"fieldName": "extras", "selected": ["Gift wrap"], "selectedIndex": [0]}):
        decide(only_request(turn), alice, Verdict.RESPOND, answer=answer)
        turn = run(turn)
    assert last_text(turn) == "Thank you, I have both: Gift wrap it is."
    assert list(checkpoints_of(turn).values_list("ordinal", "kind", "finish_reason")) == [
        (0, "partial", "tool-calls"),
        (1, "partial", "tool-calls"),
        (2, "final", "stop"),
    ]
    states = [[p["state"] for p in whole if p["type"] == "tool-askUser"] for whole in folded(turn)]
    assert states == [["input-available"], ["output-available", "input-available"], ["output-available"] * 2]
    assert folded(turn)[-1] == parts(turn)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_turn_continues_when_both_parallel_questions_are_answered(order):
    alice = people.alice()
    turn = converse(alice, "ask parallel")
    asked = open_requests(turn)
    decide(asked[order[0]], alice, Verdict.RESPOND, answer=f"answer {order[0]}")
    halfway = reload(turn)
    assert (halfway.state, [p["state"] for p in tool_parts(halfway)].count("output-available")) == ("suspended", 1)
    decide(asked[order[1]], alice, Verdict.RESPOND, answer=f"answer {order[1]}")
    turn = run(turn)
    assert last_text(turn) == "Thank you. You said: answer 0 and answer 1."
    assert kinds(turn) == ["partial", "final"]


def test_a_step_waits_for_its_tool_its_question_and_its_approval():
    alice, bob = people.alice(), people.bob()
    turn = converse(alice, "ask mixed")
    assert [p["state"] for p in tool_parts(turn)] == ["output-available", "input-available", "approval-requested"]
    question, approval = open_requests(turn)
    decide(approval, bob, Verdict.APPROVE)
    assert (reload(turn).state, reload(turn).tool_calls.get(name="issueRefund").state) == ("suspended", "ready")
    decide(question, alice, Verdict.RESPOND, answer=EXPRESS)
    turn = run(turn)
    assert [p["state"] for p in tool_parts(turn)] == ["output-available"] * 3
    assert list(results_on_record(turn).values()) == [1, 1, 1]
    assert turn.tool_calls.get(name="issueRefund").output["executions"] == 1


def test_the_second_refund_in_a_chat_is_execution_two():
    alice, bob = people.alice(), people.bob()
    turn = converse(alice, "approve refund")
    for executions in (1, 2):
        decide(only_request(turn), bob, Verdict.APPROVE)
        turn = run(turn)
        assert tool_parts(turn)[0]["output"]["executions"] == executions
        if executions == 1:
            turn = run(say(turn.chat, "approve refund"))


@pytest.mark.parametrize(("amount", "state"), [(99, "completed"), (100, "suspended"), ("99,50", "completed")])
def test_refunds_need_approval_from_100_upwards(amount, state):
    assert converse(people.alice(), f"Please refund order 4711, {amount} euros").state == state


def test_the_model_is_told_that_a_person_rejected_the_call():
    turn = converse(people.alice(), "approve refund")
    decide(only_request(turn), people.bob(), Verdict.REJECT, comment="Too much.")
    turn = run(turn)
    (part,) = tool_parts(turn)
    assert (part["state"], part["approval"]["approved"], part["approval"]["reason"], "output" in part) == (
        "output-denied",
        False,
        "Too much.",
        False,
    )
    (result,) = results_for_model(turn)
    assert result == "A person decided against this call. It was not run; do not try it again. Their reason: Too much."
    assert turn.tool_calls.get().attempt == 0


def test_the_edited_input_runs_and_the_model_is_told():
    turn = converse(people.alice(), "approve refund")
    edited = {"amount": 60, "orderId": "A-1001"}
    decide(only_request(turn), people.bob(), Verdict.EDIT, edited_input=edited)
    turn = run(turn)
    call = turn.tool_calls.get()
    assert (call.output["amount"], call.input["amount"]) == (60, 120)
    assert call.executed_digest == Decision.objects.get().approved_digest
    (result,) = results_for_model(turn)
    assert result.startswith("(A person changed the input before approving it. It ran with: ")
    assert json.loads(result.split("ran with: ")[1].split(")\n")[0]) == edited


def test_an_expired_approval_denies_the_call():
    turn = converse(people.alice(), "approve refund")
    request = only_request(turn)
    overdue(request)
    assert desk.expire(request.pk) is True
    turn = run(turn)
    decision = Decision.objects.get()
    assert (decision.by_id, decision.verdict, tool_parts(turn)[0]["state"]) == (None, "expire", "output-denied")
    assert turn.tool_calls.get().attempt == 0


def test_an_expired_question_takes_its_default(oddball):
    turn = converse(people.alice(), "human with default")
    request = only_request(turn)
    assert (request.priority, request.deadline_at is not None) == ("low", True)
    overdue(request)
    desk.expire(request.pk)
    turn = run(turn)
    output = tool_parts(turn)[0]["output"]
    assert (output["response"], output["metadata"]["timedOut"], output["metadata"]["requestId"]) == (
        "no idea",
        True,
        str(request.pk),
    )
    assert output["metadata"]["duration"] == output["metadata"]["respondedAt"] - output["metadata"]["requestedAt"]


def test_an_expired_question_without_a_default_is_an_error_to_the_model(oddball):
    turn = converse(people.alice(), "human without default")
    overdue(only_request(turn))
    desk.expire(only_request(turn).pk)
    turn = run(turn)
    assert [(p["state"], p["errorText"]) for p in tool_parts(turn)] == [
        ("output-error", "No one answered before the deadline.")
    ]


def test_the_model_can_tell_a_cancelled_question_from_a_declined_one(oddball):
    alice = people.alice()
    withdrawn, declined = converse(alice, "human"), converse(alice, "human")
    desk.cancel(only_request(withdrawn).pk, by=alice, via=Door.CHAT, comment="Never mind.")
    decide(only_request(declined), alice, Verdict.REJECT, comment="None of your business.")
    words = [tool_parts(run(turn))[0]["errorText"] for turn in (withdrawn, declined)]
    assert words == ["Cancelled before it was answered. Never mind.", "None of your business."]
    result = [model_history(turn)[2].content[0]["content"] for turn in (withdrawn, declined)]
    assert result == [words[0], "The person declined to answer. Their words: None of your business."]


def test_a_message_answers_the_pending_free_text_question(oddball):
    alice = people.alice()
    turn = converse(alice, "human")
    say(turn.chat, "  Forty-two.  ")
    turn = run(turn)
    assert tool_parts(turn)[0]["output"]["response"] == "Forty-two."
    assert (turn.chat.messages.count(), Decision.objects.get().via) == (2, "chat")


def test_every_call_has_one_audit_entry_by_whoever_closed_it():
    alice, bob = people.alice(), people.bob()
    turn = converse(alice, "ask mixed")
    question, approval = open_requests(turn)
    decide(approval, bob, Verdict.REJECT)
    decide(question, alice, Verdict.RESPOND, answer=EXPRESS)
    run(turn)
    found = AuditEntry.objects.filter(event="tool.result").order_by("tool_name")
    assert list(found.values_list("tool_name", "actor_name", "via")) == [
        ("askUser", "alice", "dashboard"),
        ("getWeather", "", "system"),
        ("issueRefund", "bob", "dashboard"),
    ]
