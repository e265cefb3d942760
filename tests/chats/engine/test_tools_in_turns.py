"""Errors of tools and models inside a turn, and their messages to the model and to people."""

from __future__ import annotations

import pytest

from approvals.states import Verdict
from chats import queries
from chats.queries.projection import NO_TEXT
from tests.support import people
from tests.support.chats import agents
from tests.support.chats.turns import (
    converse,
    decide,
    kinds,
    last_text,
    model_history,
    only_request,
    results_on_record,
    run,
    shape,
    tool_parts,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _oddball(settings):
    settings.HITL_AGENTS = [agents.PATH]
    agents.ran.clear()


def paired(turn) -> bool:
    """Return whether every tool call in the model's history is followed by exactly its results."""
    history = model_history(turn)
    for message, after in zip(history, [*history[1:], None], strict=True):
        calls = [block["id"] for block in message.content if block["type"] == "tool_use"]
        results = [b["tool_use_id"] for b in after.content if b["type"] == "tool_result"] if after is not None else []
        if calls != results:
            return False
    return True


def test_a_turn_that_reaches_the_step_limit_ends_with_a_text():
    turn = converse(people.alice(), "for ever")
    assert (turn.state, turn.finish_reason, turn.steps.count()) == ("completed", "other", 16)
    assert last_text(turn).startswith("I have taken 15 steps")
    assert [name for name, _ in agents.ran] == ["count"] * 15
    assert [p["output"] for p in tool_parts(turn)] == list(range(1, 16))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("unknown tool", "There is no tool named 'noSuchTool'. Tools: count, pay,"),
        ("bad input", "Invalid input for pay: amount: Input should be a valid integer"),
        ("extra input", "Invalid input for pay: currency: Extra inputs are not permitted"),
        ("huge", "huge ran, but its result cannot be kept: larger than 256,000 bytes."),
        ("odd", "odd ran, but its result cannot be kept:"),
        ("infinite", "infinite ran, but its result cannot be kept: NaN and Infinity are not JSON."),
        ("too many", "tooMany cannot be asked like this. options: has more than 100"),
        ("broken", "broken could not make its question. The server's log has the details."),
    ],
)
def test_an_impossible_call_returns_an_error_to_the_model(text, words):
    turn = converse(people.alice(), text)
    (part,) = tool_parts(turn)
    assert (turn.state, part["state"], part["errorText"][: len(words)]) == ("completed", "output-error", words)
    assert "secret" not in part["errorText"]
    assert list(results_on_record(turn).values()) == [1]
    assert paired(turn)


def test_an_exception_in_a_tool_shows_no_traceback(settings):
    settings.HITL_AGENTS = ["chats.agent.demo.support"]
    turn = converse(people.alice(), "fail tool")
    (part,) = tool_parts(turn)
    assert part["errorText"] == "The archive does not answer, so invoice R-77 cannot be read. Try again later."
    assert shape(turn) == ["step-start", "text", "output-error", "step-start", "text"]


def test_an_exception_in_needs_approval_asks_for_approval():
    turn = converse(people.alice(), "shaky")
    assert (turn.state, agents.ran) == ("suspended", [])
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    run(turn)
    assert agents.ran == [("shaky", 1)]


def test_an_invalid_edited_input_is_refused():
    turn = converse(people.alice(), "pay")
    with pytest.raises(Exception, match="decision is invalid") as refused:
        decide(only_request(turn), people.bob(), Verdict.EDIT, edited_input={"amount": "ten", "to": "Eve"})
    assert refused.value.errors == {"edited_input.amount": "must be a whole number"}
    assert only_request(turn).status == "pending"


def test_an_empty_answer_after_a_tool_gets_a_closing_text():
    turn = converse(people.alice(), "pay and stop")
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    turn = run(turn)
    assert shape(turn) == ["step-start", "output-available", "step-start", "text"]
    assert last_text(turn) == NO_TEXT
    assert paired(turn)


def test_an_empty_answer_completes_the_turn():
    turn = converse(people.alice(), "nothing")
    assert (turn.state, last_text(turn), kinds(turn)) == ("completed", NO_TEXT, ["final"])


def test_two_approved_calls_run_once_each():
    turn = converse(people.alice(), "pay twice")
    bob = people.bob()
    for request in queries.open_requests(turn):
        decide(request, bob, Verdict.APPROVE)
    turn = run(turn)
    assert (sorted(agents.ran), turn.state) == ([("pay", (1, "A")), ("pay", (2, "B"))], "completed")


def test_a_turn_fails_if_its_agent_was_removed(settings):
    turn = converse(people.alice(), "pay")
    settings.HITL_AGENTS = ["chats.agent.demo.support"]
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    turn = run(turn)
    assert (turn.state, turn.error) == ("failed", "No agent is named 'oddball'.")
    assert (agents.ran, kinds(turn)) == ([], ["partial", "final"])
    assert [p["state"] for p in tool_parts(turn)] == ["output-error"]
    assert paired(turn)
