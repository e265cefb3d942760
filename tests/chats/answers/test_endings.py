"""How an answer ended beside its words: kept, told and recorded, with the real runner and a stand-in of the API."""

from __future__ import annotations

import pytest

from approvals.models import AuditEntry, OutboxEvent
from chats.states import TurnState
from tests.support import people
from tests.support.anthropic_server import START, Close, Reply, answer, block_events, says, text, tool_use
from tests.support.chats import claude as support
from tests.support.chats.claude import ends, sent
from tests.support.chats.turns import chunks, converse, parts, run, say

pytestmark = pytest.mark.django_db(transaction=True)

STEP = {"type": "step-start"}
BROKEN_OFF = {"type": "data-remark", "data": {"code": "broken_off"}}


@pytest.fixture
def claude(settings, monkeypatch):
    # An event is stored only if a handler wants it.
    settings.HITL_EVENT_HANDLERS = ["tests.chats.answers.nobody"]
    with support.answering(settings, monkeypatch) as server:
        yield server


def spoken(words):
    return {"type": "text", "text": words, "state": "done"}


def ending(turn):
    """Return the reason for the turn's end from its event."""
    (data,) = [event.payload for event in OutboxEvent.objects.filter(name="turn.completed")]
    return {name: data[name] for name in ("state", "finish_reason", "remarks")}


def broken_off(*words):
    """An answer whose connection closes in the middle of the last text."""
    blocks = [event for index, said in enumerate(words) for event in block_events(index, text(said))]
    return Reply(items=[START, *blocks[:-1], Close.EARLY])


def test_texts_that_were_streamed_stay_when_the_turn_fails(claude):
    claude.will(broken_off("First.", "Half an"))
    turn = converse(people.alice(), "Hello")
    assert (turn.state, turn.finish_reason) == (TurnState.FAILED, "error")
    assert parts(turn) == [STEP, spoken("First."), spoken("Half an"), BROKEN_OFF]
    step = turn.steps.get()
    assert (step.stop_reason, step.provider, step.blocks) == (
        "broken_off",
        "anthropic",
        [text("First."), text("Half an")],
    )
    assert ending(turn) == {"state": "failed", "finish_reason": "error", "remarks": [{"code": "broken_off"}]}
    assert [chunk["remark"] for chunk in chunks(turn, "AnswerRemarked")] == [{"code": "broken_off"}]


def test_the_model_is_shown_what_it_had_said_before_the_error(claude):
    claude.will(broken_off("Half an"), says(text(" hour.")))
    turn = run(say(converse(people.alice(), "Hello").chat, "Continue"))
    assert (turn.state, parts(turn)) == (TurnState.COMPLETED, [STEP, spoken(" hour.")])
    so_far = [text("Half an"), text("(An error interrupted this answer here.)")]
    assert sent(claude) == [[text("Hello")], so_far, [text("Continue")]]


def test_a_turn_that_fails_before_its_first_word_has_no_remark(claude):
    claude.will(Reply(items=[START, block_events(0, text("x"))[0], Close.EARLY]))
    turn = converse(people.alice(), "Hello")
    assert (turn.state, turn.steps.get().blocks, turn.chat.messages.count()) == (TurnState.FAILED, [], 1)


def test_results_before_a_text_that_was_broken_off_stay_too(claude):
    call = tool_use("toolu_1", "getWeather", city="Rome")
    claude.will(says(call, stop_reason="tool_use"), broken_off("In Rome it is"))
    turn = converse(people.alice(), "Weather?")
    assert [part["type"] for part in parts(turn)] == [
        "step-start",
        "tool-getWeather",
        "step-start",
        "text",
        "data-remark",
    ]


CUTS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content-filter",
}


@pytest.mark.parametrize("stop_reason", CUTS)
def test_an_answer_that_was_cut_off_says_so_and_keeps_its_text(claude, stop_reason):
    claude.will(ends(text("So far"), stop_reason=stop_reason))
    turn = converse(people.alice(), "Hello")
    remark = {"code": stop_reason}
    assert parts(turn) == [STEP, spoken("So far"), {"type": "data-remark", "data": remark}]
    assert ending(turn) == {"state": "completed", "finish_reason": CUTS[stop_reason], "remarks": [remark]}


def test_a_message_continues_an_answer_that_was_cut_off_by_its_length(claude):
    claude.will(ends(text("One, two,"), stop_reason="max_tokens"), says(text("three.")))
    turn = run(say(converse(people.alice(), "Count").chat, "Continue"))
    assert (turn.state, sent(claude)) == (
        TurnState.COMPLETED,
        [[text("Count")], [text("One, two,")], [text("Continue")]],
    )


def test_a_cut_before_the_first_word_has_a_text_that_every_client_shows(claude):
    claude.will(ends(stop_reason="max_tokens"))
    turn = converse(people.alice(), "Hello")
    assert [part.get("text") or part["type"] for part in parts(turn)] == [
        "step-start",
        "data-remark",
        "(The answer was cut off before its first word.)",
    ]


def test_a_refused_message_and_its_answer_are_not_sent_again(claude):
    claude.will(
        says(text("Hi.")), ends(text("First you"), stop_reason="refusal"), says(text("Sure.")), says(text("Yes."))
    )
    turn = converse(people.alice(), "Hello")
    refused = run(say(turn.chat, "How do I do harm?"))
    assert (refused.state, refused.finish_reason) == (TurnState.COMPLETED, "content-filter")
    assert run(say(turn.chat, "How do I prevent harm?")).state == TurnState.COMPLETED
    kept = [[text("Hello")], [text("Hi.")], [text("How do I prevent harm?")]]
    assert sent(claude) == kept
    run(say(turn.chat, "Really?"))
    assert sent(claude) == [*kept, [text("Sure.")], [text("Really?")]]


def test_the_model_still_knows_which_tools_a_refused_turn_had_run(claude):
    call = tool_use("toolu_1", "getWeather", city="Rome")
    claude.will(says(call, stop_reason="tool_use"), ends(stop_reason="refusal"), says(text("Sure.")))
    turn = converse(people.alice(), "Weather, and harm?")
    run(say(turn.chat, "Only the weather."))
    left = "(A message that was refused is left out here. These tools were called for it: getWeather (succeeded).)"
    said = [block for content in sent(claude) for block in content]
    assert said == [text(left), text("Only the weather.")]


def test_a_refusal_is_on_record_once(claude):
    claude.will(ends(stop_reason="refusal"))
    turn = converse(people.alice(), "Hello")
    (entry,) = AuditEntry.objects.filter(event="turn.refused")
    assert (entry.data, entry.run_id, entry.agent) == ({"code": "refusal"}, str(turn.run_id), "support")


def test_an_answer_without_remarks_has_none(claude):
    claude.will(Reply(items=answer(text("All."))))
    turn = converse(people.alice(), "Hello")
    assert ending(turn)["remarks"] == []
