"""The projection of stored rows onto the message for people and the history for the model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from approvals.db.canonical_json import digest
from chats.checkpoints import digest_of
from chats.queries.conversations import answered
from chats.queries.projection import NO_TEXT, CallView, StepView, canonical_parts, message_parts

USE = {"type": "tool_use", "id": "c1", "name": "pay", "input": {"a": 1}}


def call(state, **given) -> CallView:
    return CallView(tool_call_id="c1", name="pay", input={"a": 1}, state=state, **given)


def part(view: CallView) -> dict:
    return message_parts([StepView([USE], [view])])[1]


BASE = {"type": "tool-pay", "toolCallId": "c1", "input": {"a": 1}}
YES = {"id": "r1", "approved": True}


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (call("waiting"), {"state": "input-available"}),
        (call("waiting", approval_id="r1"), {"state": "approval-requested", "approval": {"id": "r1"}}),
        (call("ready"), {"state": "input-available"}),
        (call("ready", approval_id="r1", approved=True), {"state": "approval-responded", "approval": YES}),
        (call("executing", approval_id="r1", approved=True), {"state": "approval-responded", "approval": YES}),
        (call("unknown"), {"state": "input-available"}),
        (call("succeeded", output=None), {"state": "output-available", "output": None}),
        (
            call("succeeded", output=1, approval_id="r1", approved=True, reason="ok"),
            {"state": "output-available", "output": 1, "approval": YES | {"reason": "ok"}},
        ),
        (call("failed", error_text="no"), {"state": "output-error", "errorText": "no"}),
        (
            call("cancelled", error_text="gone", approval_id="r1", approved=False),
            {"state": "output-error", "errorText": "gone"},
        ),
        (
            call("denied", approval_id="r1", approved=False),
            {"state": "output-denied", "approval": {"id": "r1", "approved": False}},
        ),
    ],
)
def test_a_call_in_each_state_is_the_part_that_ai_sdk_knows(view, expected):
    assert part(view) == BASE | expected


def test_empty_texts_and_unknown_blocks_show_nothing():
    blocks = [{"type": "text", "text": ""}, {"type": "redacted_thinking", "data": "x"}, {"type": "new_thing"}]
    assert message_parts([StepView(blocks)]) == [{"type": "step-start"}]


def test_thinking_is_shown_as_reasoning():
    assert message_parts([StepView([{"type": "thinking", "thinking": "hm", "signature": "s"}])])[1] == {
        "type": "reasoning",
        "text": "hm",
        "state": "done",
    }


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], ["step-start", "text"]),
        ([StepView([{"type": "text", "text": "hi"}])], ["step-start", "text"]),
        ([StepView([USE], [call("succeeded", output=1)])], ["step-start", "tool-pay", "step-start", "text"]),
        (
            [StepView([USE], [call("succeeded", output=1)]), StepView([])],
            ["step-start", "tool-pay", "step-start", "text"],
        ),
    ],
)
def test_an_ended_turn_without_a_text_gets_a_closing_text(steps, expected):
    assert [p["type"] for p in message_parts(steps, closing=NO_TEXT)] == expected


def test_the_model_history_pairs_every_call_with_its_result():
    steps = [
        StepView([{"type": "text", "text": "hm"}, USE], [call("denied", reason="No.")], "anthropic", "m1"),
        StepView([]),
    ]
    first, result, last = answered([], steps)
    assert (first.role, first.content[1], first.provider, first.model) == ("assistant", USE, "anthropic", "m1")
    assert (result.role, result.content[0]["tool_use_id"], "is_error" in result.content[0]) == ("user", "c1", False)
    assert last.content == [{"type": "text", "text": NO_TEXT}]


@pytest.mark.parametrize(
    ("view", "content", "is_error"),
    [
        (call("succeeded", output="plain"), "plain", False),
        (call("succeeded", output={"ä": [1, None]}), '{"ä": [1, null]}', False),
        (
            call("succeeded", output="x", edited_input={"a": 2}),
            '(A person changed the input before approving it. It ran with: {"a": 2})\nx',
            False,
        ),
        (call("failed", error_text="no money"), "no money", True),
        (call("waiting"), "This call has no result: it was not finished.", True),
    ],
)
def test_the_model_history_describes_every_result(view, content, is_error):
    (_, message) = answered([], [StepView([USE], [view])])
    assert (message.content[0]["content"], message.content[0].get("is_error", False)) == (content, is_error)


def test_the_digest_of_a_message_is_that_of_the_canonical_forms_of_its_parts():
    steps = [StepView([USE, {"type": "text", "text": "\u00fc"}], [call("succeeded", output=1.5)]), StepView([USE])]
    parts = [*message_parts(steps), {"type": "text", "text": "The end."}]
    known = digest_of(parts, canonical_parts(steps), salt="5a17")
    assert known == digest_of(parts, salt="5a17")
    assert known == digest({"parts": parts, "salt": "5a17", "version": "pausepoint.message.1"})


def test_a_changed_step_is_shown_as_it_is_now():
    step = StepView([USE], [call("executing")])
    assert message_parts([step])[1]["state"] == "input-available"
    assert message_parts([replace(step, calls=[call("succeeded", output=1)])])[1]["state"] == "output-available"
