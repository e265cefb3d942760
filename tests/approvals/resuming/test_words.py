"""A model's results: the decider, or the reason why no one could be asked. Without a server."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pausepoint import Outcome, calls
from pausepoint.calls import Unreadable, readable_input
from pausepoint.interrupts import pause_of

RULE = {"rule": {"name": "Never", "policy_version": 1}}


def outcome(status: str, comment: str = "", **decision: Any) -> Outcome:
    return Outcome("r1", status, None, comment, None, None, None, {"decision": {"verdict": status, **decision}})


@pytest.mark.parametrize(("made", "words"), [
    (outcome("rejected", "Ask finance.", **RULE),
     "The rule 'Never' of the policy denies this call: Ask finance. Do not repeat it."),
    (outcome("rejected", "Not today"), "A person declined this call: Not today. Do not repeat it."),
    (outcome("expired"), "No one decided in time, so this call was not run."),
    (outcome("expired", halted=True), calls.HALTED),
])  # fmt: skip
def test_a_refusal_says_whose_it_is(made, words):
    assert calls.refusal(made) == words


def test_a_rule_that_allows_is_not_told_as_a_person():
    assert (
        calls.note(outcome("approved", "Small.", **RULE)) == "The rule 'Never' of the policy allows this call: Small."
    )


def test_a_question_at_whose_deadline_the_run_stops_says_so():
    assert calls.answer_text(outcome("expired", halted=True)).startswith(
        "No one answered in time, and the policy stops the run"
    )


@pytest.mark.parametrize(("given", "shown"), [
    ('{"a": 1}', {"a": 1}),
    ({"a": [1]}, {"a": [1]}),
    ("[1]", {"arguments": [1]}),
    ({}, {}),
])  # fmt: skip
def test_people_are_shown_the_whole_input(given, shown):
    assert readable_input("refund", given) == shown


@pytest.mark.parametrize("given", [None, "", "{", '{"a": 1, "a": 2}', '{"a": NaN}', {"a": {1}}, {"a": float("inf")}])
def test_an_input_that_no_one_can_read_is_refused_in_words(given):
    with pytest.raises(Unreadable, match=r"^This call of 'refund' was not run, and no one was asked about it: "):
        readable_input("refund", given)


@pytest.mark.parametrize(
    "action", [{"action": "", "args": {}}, {"action": "drop"}, {"action": "drop", "args": {"a": {1}}}]
)
def test_an_interrupt_whose_call_no_one_can_read_is_not_asked_about(action):
    value = [{"action_request": action, "config": {"allow_accept": True}}]
    with pytest.raises(Unreadable):
        pause_of(SimpleNamespace(id="i1", value=value, response_schema=None), "thread-1")
