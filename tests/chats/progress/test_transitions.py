"""The transitions of a turn, as pure functions: the effect of each on a call in each state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from approvals.asking.digests import input_digest
from chats.actions import transitions
from chats.actions.transitions import MAX_RUNS, NOT_APPROVED, OUTCOME_UNKNOWN, Changes, Transition
from chats.agent.events import ModelFinished
from chats.agent.loop import PlannedCall
from chats.agent.tools import tool
from chats.queries.progress import Progress
from chats.queries.values import CallView, StepView
from chats.states import CLOSED, CallState
from tests.support.chats.calls import call, made_of, progress

WAITING, READY, EXECUTING, DELEGATED, UNKNOWN = (
    CallState.WAITING,
    CallState.READY,
    CallState.EXECUTING,
    CallState.DELEGATED,
    CallState.UNKNOWN,
)
SUCCEEDED, FAILED, DENIED, CANCELLED = CallState.SUCCEEDED, CallState.FAILED, CallState.DENIED, CallState.CANCELLED
OPEN = frozenset(CallState) - CLOSED
REFUSED = "refused"


def closing(state: CallState) -> Transition:
    return lambda before: transitions.close(before, "a", state)


def timing_out(attempt: int, *, idempotent: bool) -> Transition:
    return lambda before: transitions.time_out(before, "a", attempt, idempotent=idempotent)


def of_each(states: frozenset[CallState], outcome: str) -> dict[CallState, str]:
    return dict.fromkeys(states, outcome)


#: The new state of a call by transition and state. In all other states, a transition leaves the call unchanged.
TABLE: dict[str, tuple[Transition, dict[CallState, str]]] = {
    "start its tool": (lambda before: transitions.start(before, {"pay"}, {}), {READY: EXECUTING}),
    "start another tool": (lambda before: transitions.start(before, {"look_up"}, {}), {}),
    "give back": (lambda before: transitions.give_back(before, {"b"}), {EXECUTING: READY}),
    "give back what was begun": (lambda before: transitions.give_back(before, {"a"}), {}),
    "recover": (lambda before: transitions.recover(before, {"look_up"}), {EXECUTING: UNKNOWN}),
    "recover an idempotent tool": (lambda before: transitions.recover(before, {"pay"}), {EXECUTING: READY}),
    "finish": (lambda before: transitions.finish(before, "a", 1, output=1), {EXECUTING: SUCCEEDED}),
    "finish with an error": (lambda before: transitions.finish(before, "a", 1, error_text="no"), {EXECUTING: FAILED}),
    "finish an old run": (lambda before: transitions.finish(before, "a", 0, output=1), {}),
    "finish another call": (lambda before: transitions.finish(before, "b", 1, output=1), {}),
    "finish a call of an earlier step": (lambda before: transitions.finish(before, "earlier", 1, output=1), {}),
    "time out": (timing_out(1, idempotent=False), {EXECUTING: UNKNOWN}),
    "time out an idempotent tool": (timing_out(1, idempotent=True), {EXECUTING: READY}),
    "time out an old run": (timing_out(0, idempotent=True), {}),
    "succeed": (closing(SUCCEEDED), of_each(OPEN, SUCCEEDED) | of_each(CLOSED, REFUSED)),
    "fail": (closing(FAILED), of_each(OPEN, FAILED) | of_each(CLOSED, REFUSED)),
    "deny": (closing(DENIED), of_each(frozenset(CallState), REFUSED) | {WAITING: DENIED}),
    "cancel": (
        closing(CANCELLED),
        of_each(OPEN, CANCELLED) | of_each(CLOSED, REFUSED) | {EXECUTING: REFUSED},
    ),
    "approve": (
        lambda before: transitions.approve(before, "a"),
        of_each(CLOSED, REFUSED)
        | {WAITING: READY, UNKNOWN: READY, EXECUTING: READY, READY: REFUSED, DELEGATED: REFUSED},
    ),
    "approve another call": (lambda before: transitions.approve(before, "b"), {}),
    "delegate": (
        lambda before: transitions.delegate(before, "a"),
        of_each(frozenset(CallState), REFUSED) | {EXECUTING: DELEGATED},
    ),
    "cancel what is open": (lambda before: transitions.cancel_open(before, "over"), of_each(OPEN, CANCELLED)),
    "ask about another call": (lambda before: transitions.ask(before, {"b": "request"}, ()), {}),
}


@pytest.mark.parametrize("state", list(CallState))
@pytest.mark.parametrize("name", TABLE)
def test_each_transition_makes_of_a_call_what_the_table_says(name, state):
    transition, outcomes = TABLE[name]
    before = progress(call(state))
    after = made_of(before, transition)
    if state not in outcomes:
        assert after is before
    elif after is None:
        assert outcomes[state] == REFUSED
    else:
        assert ([made.state for made in after.calls], after.steps[0]) == ([outcomes[state]], before.steps[0])


@pytest.mark.parametrize("name", [name for name in TABLE if name != "finish a call of an earlier step"])
def test_a_turn_without_calls_changes_by_no_transition(name):
    for before in (Progress(), progress()):
        assert TABLE[name][0](before) is before


def only(after: Progress) -> CallView:
    (made,) = after.calls
    return made


def test_a_start_counts_the_run_and_says_with_what_it_runs():
    own = only(transitions.start(progress(call()), {"pay"}, {}))
    assert (own.attempt, own.executed_digest) == (1, input_digest({"amount": 5}))
    edited = {"amount": 3}
    approved = call(request_id="r", edited_input=edited, approved_digest=input_digest(edited))
    assert only(transitions.start(progress(approved), {"pay"}, {})) == replace(
        approved, state=EXECUTING, attempt=1, executed_digest=input_digest(edited)
    )


def test_an_input_other_than_the_approved_one_fails_without_a_run():
    asked = call(request_id="r", approved_digest=input_digest({"amount": 4}))
    assert only(transitions.start(progress(asked), {"pay"}, {})) == replace(
        asked, state=FAILED, error_text=NOT_APPROVED
    )


def test_a_call_that_is_given_back_is_as_before_its_start():
    before = progress(call(), call(DENIED, "b"))
    assert transitions.give_back(transitions.start(before, {"pay"}, {}), ()) == before


def test_an_idempotent_tool_is_started_three_times_and_then_a_person_is_asked():
    last = progress(call(EXECUTING, attempt=MAX_RUNS))
    assert only(transitions.recover(last, {"pay"})).state == UNKNOWN
    timed_out = only(transitions.time_out(last, "a", MAX_RUNS, idempotent=True))
    assert (timed_out.state, timed_out.error_text) == (FAILED, "pay did not end within its time limit, in 3 tries.")


def test_a_result_is_kept_with_its_output_or_its_error():
    running = progress(call(EXECUTING))
    assert only(transitions.finish(running, "a", 1, output={"paid": 5})) == call(SUCCEEDED, output={"paid": 5})
    assert only(transitions.finish(running, "a", 1, error_text="no")) == call(FAILED, error_text="no")


def test_a_request_is_noted_as_an_approval_a_question_or_a_recovery():
    before = progress(
        call(WAITING), call(WAITING, "b"), call(UNKNOWN, "c", request_id="earlier"), call(tool_call_id="d")
    )
    after = transitions.ask(before, {"a": "r1", "b": "r2", "c": "r3"}, {"a"})
    assert after.calls == (
        call(WAITING, request_id="r1", approval_id="r1"),
        call(WAITING, "b", request_id="r2"),
        call(UNKNOWN, "c", request_id="earlier", recovery_id="r3"),
        before.calls[3],
    )


@pytest.mark.parametrize("by_rule", [True, False])
def test_what_a_grant_or_a_rule_approves_at_once_is_ready_with_its_decision(by_rule):
    after = transitions.approve_unasked(progress(call(WAITING)), "a", "digest", "salt", by_rule=by_rule)
    assert only(after) == call(
        READY, approved=True, decided=True, by_rule=by_rule, approved_digest="digest", digest_salt="salt"
    )


def test_what_a_rule_denies_at_once_says_that_the_rule_did_and_why():
    after = transitions.deny_unasked(progress(call(WAITING)), "a", "Ask finance.")
    denied = {
        "approved": False,
        "decided": True,
        "by_rule": True,
        "reason": "Ask finance.",
        "error_text": "Ask finance.",
    }
    assert only(after) == replace(call(WAITING), state=DENIED, **denied)


def test_a_cancelled_call_says_whether_its_outcome_is_known():
    before = progress(*(call(state, state) for state in CallState))
    texts = {made.tool_call_id: made.error_text for made in transitions.cancel_open(before, "over").calls}
    assert texts == {
        **dict.fromkeys(CLOSED, ""),
        **dict.fromkeys((WAITING, READY, DELEGATED), "over"),
        **dict.fromkeys((EXECUTING, UNKNOWN), OUTCOME_UNKNOWN),
    }


@tool
def free() -> str:
    """Needs no approval."""
    return "done"


@tool(needs_approval=True)
def watched() -> str:
    """Needs an approval."""
    return "done"


@pytest.mark.parametrize(
    ("stop_reason", "states"), [("tool_use", [READY, WAITING, FAILED]), ("max_tokens", [FAILED, FAILED, FAILED])]
)
def test_a_models_answer_becomes_a_step_whose_calls_wait_are_ready_or_have_failed(stop_reason, states):
    planned = [
        PlannedCall("a", "free", {}, free),
        PlannedCall("b", "watched", {}, watched),
        PlannedCall("c", "gone", {}, None, "There is no such tool."),
    ]
    step = transitions.step_of(ModelFinished([{"type": "text", "text": "Well."}], stop_reason, "m"), planned, "p")
    before = progress()
    after = transitions.add_step(before, step)
    assert ([made.state for made in step.calls], after.steps) == (states, (*before.steps, step))
    failed = [made for made in step.calls if made.state == FAILED]
    assert transitions.changes(before, after) == Changes(2, (step,), [], failed)


def test_the_calls_of_an_earlier_step_never_change():
    before = progress(call(SUCCEEDED))
    after = transitions.add_step(before, StepView([], (call(EXECUTING, "b"),)))
    assert transitions.finish(after, "a", 1, output="late") is after
    assert transitions.cancel_open(after, "over").steps[:2] == before.steps


def test_a_closed_call_that_differs_is_never_written():
    before = progress(call(SUCCEEDED, output=1))
    with pytest.raises(AssertionError):
        transitions.changes(before, progress(call(SUCCEEDED, output=2)))
