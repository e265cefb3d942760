"""Turns from the message to the end, with the real runner and the sentences of the demo's script."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.models import AuditEntry, Decision, Workflow
from approvals.states import Verdict
from chats.agent.demo import SHIPPING
from tests.support import people
from tests.support.chats.turns import (
    checkpoints_of,
    converse,
    decide,
    folded,
    last_text,
    make_chat,
    only_request,
    parts,
    run,
    say,
)

pytestmark = pytest.mark.django_db(transaction=True)

STEP = {"type": "step-start"}
REFUND = {"amount": 120, "orderId": "A-1001"}
REFUNDED = {"orderId": "A-1001", "amount": 120, "status": "refunded", "executions": 1}
EXPRESS = {"fieldName": "delivery", "selected": ["Express"], "selectedIndex": 1}
BERLIN = {"city": "Berlin", "temperature": 18, "sky": "clear"}


def spoken(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words, "state": "done"}


def called(tool: str, value: Any, state: str, **more: Any) -> dict[str, Any]:
    return {"type": f"tool-{tool}", "toolCallId": "the call", "input": value, "state": state, **more}


def plain(turn):
    """Return the message's parts, with the ids of its call and its request replaced by names."""
    found = []
    for part in parts(turn):
        call = turn.tool_calls.filter(tool_call_id=part.get("toolCallId")).first()
        if call is not None:
            part |= {"toolCallId": "the call"}
        if "approval" in part:
            assert part["approval"]["id"] == str(call.approval_id)
            part |= {"approval": part["approval"] | {"id": "the request"}}
        found.append(part)
    return found


def on_record(turn):
    """Return each `tool.result` of the chat: tool, state, executions, actor and `via`."""
    entries = AuditEntry.objects.filter(event="tool.result", scope=turn.chat.scope).order_by("pk")
    return [(e.tool_name, e.data["state"], e.data["executions"], e.actor_name, e.via) for e in entries]


def rows(turn):
    """Return the turn's checkpoints: ordinal, kind, reason."""
    return list(checkpoints_of(turn).values_list("ordinal", "kind", "finish_reason"))


def of_its_steps(turn):
    return list(turn.steps.order_by("index").values_list("index", "stop_reason", "provider"))


ARCHIVE = "The archive does not answer, so invoice R-77 cannot be read. Try again later."
UNPAUSED = {
    "hello": (
        [STEP, spoken("Hello! I can look up the weather, refund an order, and ask people when I need them.")],
        [],
    ),
    "weather": (
        [
            STEP,
            spoken("One moment."),
            called("getWeather", {"city": "Berlin"}, "output-available", output=BERLIN),
            STEP,
            spoken("The weather in Berlin: city Berlin, temperature 18, sky clear"),
        ],
        [("getWeather", "succeeded", 1, "", "system")],
    ),
    "fail tool": (
        [
            STEP,
            spoken("I look into the archive."),
            called("lookUpInvoice", {"number": "R-77"}, "output-error", errorText=ARCHIVE),
            STEP,
            spoken(f"I could not read the invoice. {ARCHIVE}"),
        ],
        [("lookUpInvoice", "failed", 1, "", "system")],
    ),
}


@pytest.mark.parametrize("sentence", UNPAUSED)
def test_a_turn_without_requests_completes(sentence):
    turn = converse(people.alice(), sentence)
    expected, results = UNPAUSED[sentence]
    assert (turn.state, turn.finish_reason, turn.error, turn.stopped) == ("completed", "stop", "", False)
    assert (plain(turn), on_record(turn), rows(turn)) == (expected, results, [(0, "final", "stop")])
    ends = [(0, "end_turn", "scripted")] if not results else [(0, "tool_use", "scripted"), (1, "end_turn", "scripted")]
    assert of_its_steps(turn) == ends
    assert Workflow.objects.count() == 0


def test_an_answered_question_stays_in_the_same_message():
    alice = people.alice()
    turn = converse(alice, "ask")
    begun = [STEP, spoken("I need to know one thing before I go on.")]
    assert (turn.state, turn.finish_reason, turn.ended_at) == ("suspended", "tool-calls", None)
    assert plain(turn) == [*begun, called("askUser", SHIPPING, "input-available")]
    assert (on_record(turn), rows(turn)) == ([], [(0, "partial", "tool-calls")])
    message_id, run_id = turn.message_id, turn.run_id
    decide(only_request(turn), alice, Verdict.RESPOND, answer=EXPRESS)
    turn = run(turn)
    assert (turn.state, turn.finish_reason, turn.message_id, turn.run_id) == ("completed", "stop", message_id, run_id)
    assert plain(turn) == [
        *begun,
        called("askUser", SHIPPING, "output-available", output=EXPRESS),
        STEP,
        spoken("Thank you, you chose Express. I will arrange that."),
    ]
    assert on_record(turn) == [("askUser", "succeeded", 0, "alice", "dashboard")]
    assert rows(turn) == [(0, "partial", "tool-calls"), (1, "final", "stop")]
    assert folded(turn)[-1] == parts(turn)


def test_a_refund_waits_for_approval_and_runs_once():
    turn = converse(people.alice(), "approve refund")
    begun = [STEP, spoken("I will refund the order once someone approves it.")]
    waiting = called("issueRefund", REFUND, "approval-requested", approval={"id": "the request"})
    assert (turn.state, turn.finish_reason, plain(turn)) == ("suspended", "tool-calls", [*begun, waiting])
    assert (turn.tool_calls.get().attempt, on_record(turn)) == (0, [])
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    turn = run(turn)
    yes = {"id": "the request", "approved": True}
    assert (turn.state, plain(turn)) == (
        "completed",
        [
            *begun,
            called("issueRefund", REFUND, "output-available", output=REFUNDED, approval=yes),
            STEP,
            spoken("The refund is settled: orderId A-1001, amount 120.0, status refunded, executions 1"),
        ],
    )
    assert on_record(turn) == [("issueRefund", "succeeded", 1, "", "system")]
    assert rows(turn) == [(0, "partial", "tool-calls"), (1, "final", "stop")]
    assert Decision.objects.get().approved_digest == turn.tool_calls.get().executed_digest
    assert list(Workflow.objects.values_list("state", "open_count")) == [("completed", 0)]


def test_a_rejected_refund_does_not_run_and_the_turn_continues():
    turn = converse(people.alice(), "approve refund")
    decide(only_request(turn), people.bob(), Verdict.REJECT)
    turn = run(turn)
    result = "A person decided against this call. It was not run; do not try it again."
    assert (turn.state, turn.finish_reason, plain(turn)[2:]) == (
        "completed",
        "stop",
        [
            called("issueRefund", REFUND, "output-denied", approval={"id": "the request", "approved": False}),
            STEP,
            spoken(f"The refund is settled: {result}"),
        ],
    )
    assert on_record(turn) == [("issueRefund", "denied", 0, "bob", "dashboard")]
    assert turn.tool_calls.get().executed_digest == ""


REFUNDS = [
    ("refund order 4711, 50 euros", {"orderId": "4711", "amount": 50}, "completed"),
    ("Please refund order 4711, 99.99 euros", {"orderId": "4711", "amount": 99.99}, "completed"),
    ("Refund #A-17: 99,50", {"orderId": "A-17", "amount": 99.5}, "completed"),
    ("Could you refund B-2? It was 100.", {"orderId": "B-2", "amount": 100}, "suspended"),
    ("refund order 4711, 250 euros", {"orderId": "4711", "amount": 250}, "suspended"),
]


@pytest.mark.parametrize(("sentence", "value", "state"), REFUNDS)
def test_refund_sentences_need_approval_from_100_upwards(sentence, value, state):
    turn = converse(people.alice(), sentence)
    call = turn.tool_calls.get()
    assert (turn.state, call.name, call.input, call.attempt) == (
        state,
        "issueRefund",
        value,
        1 if state == "completed" else 0,
    )


@pytest.mark.parametrize(
    "sentence",
    ["refund order 4711, 1,250 euros", "Refund #A-17: 1.250,50", "refund 250 euros for order 4711"],
)
def test_a_refund_with_an_ambiguous_amount_is_not_made(sentence):
    turn = converse(people.alice(), sentence)
    assert (turn.state, turn.tool_calls.count()) == ("completed", 0)
    assert last_text(turn).startswith("I am the scripted provider: no model is connected. Sentences I know:")


def test_executions_are_counted_per_tool_and_chat():
    alice = people.alice()
    chat = make_chat(alice)
    for executions in (1, 2):
        turn = run(say(chat, "refund order 4711, 50 euros"))
        assert turn.tool_calls.get().output["executions"] == executions
        run(say(chat, "weather"))
    assert converse(alice, "refund order 4711, 50 euros").tool_calls.get().output["executions"] == 1
    assert chat.messages.count() == 8
