"""The transitions of a turn, as functions from one value to the next. Pure: no database, no clock.

Each takes the progress of a turn and returns the progress after a change. The rows to write are the difference between the two
(`changes`), which `chats.actions.writes` stores in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from approvals.asking.digests import input_digest
from approvals.db.canonical_json import clean_json
from chats.agent import events
from chats.agent.loop import PlannedCall
from chats.queries.progress import Progress
from chats.queries.values import CallView, StepView
from chats.states import CALL_TRANSITIONS, CLOSED, CallState

#: How often a call is started before a person is asked, or it fails.
MAX_RUNS = 3
CUT_OFF = "The model's answer was cut off in this call, so it was not run."
NOT_APPROVED = "The input is not the one that was approved, so it was not run."
OUTCOME_UNKNOWN = "The turn ended while this ran; whether it was done is not known."

Transition = Callable[[Progress], Progress]


@dataclass(frozen=True, slots=True)
class Changes:
    """The difference of two states of a turn: new steps from index `first` on, and changed calls of the step before them.

    `closed` are the calls that now have their result, in order.
    """

    first: int
    steps: Sequence[StepView]
    calls: Sequence[CallView]
    closed: Sequence[CallView]


def changes(before: Progress, after: Progress) -> Changes:
    """Return the changes to write. Only the calls of the last step can change; a closed call never does."""
    known = {call.tool_call_id: call for call in before.calls}
    last = after.steps[len(before.steps) - 1].calls if before.steps else ()
    changed = [
        call
        for call in last
        if call is not known[call.tool_call_id] and call != known[call.tool_call_id]
    ]
    assert not any(known[call.tool_call_id].state in CLOSED for call in changed), (
        changed
    )
    first = len(before.steps)
    added = after.steps[first:]
    new = [call for step in added for call in step.calls]
    closed = [call for call in (*changed, *new) if call.state in CLOSED]
    return Changes(first, added, changed, closed)


def add_step(progress: Progress, step: StepView) -> Progress:
    """Add the model's answer."""
    return replace(progress, steps=(*progress.steps, step))


def step_of(
    finished: events.ModelFinished, planned: Sequence[PlannedCall], provider: str
) -> StepView:
    """Return a model's answer as a step. Calls that cannot be run have failed; those that need people wait."""
    return StepView(
        clean_json(finished.blocks),
        tuple(
            _new_call(call, cut_off=finished.stop_reason != "tool_use")
            for call in planned
        ),
        provider,
        finished.model,
        finished.prefix,
        finished.stop_reason,
        clean_json(finished.stop_details),
        finished.usage,
        finished.answered_by,
    )


def _new_call(call: PlannedCall, *, cut_off: bool) -> CallView:
    error = CUT_OFF if cut_off else call.error_text
    state = CallState.WAITING if call.needs_person else CallState.READY
    return CallView(
        tool_call_id=call.tool_call_id,
        name=call.name,
        input=clean_json(call.input),
        state=CallState.FAILED if error else state,
        error_text=error,
    )


def start(
    progress: Progress, names: Collection[str], salts: Mapping[str, str]
) -> Progress:
    """Start the ready calls of these tools. A call whose input is not the approved one fails instead.

    `salts` are for the digests of calls that were never asked about, by toolCallId.
    """

    def start_call(call: CallView) -> CallView:
        if call.state != CallState.READY or call.name not in names:
            return call
        executed = input_digest(
            input_of(call), salt=salts.get(call.tool_call_id, call.digest_salt)
        )
        if call.request_id and call.approved_digest != executed:
            return _to(call, CallState.FAILED, error_text=NOT_APPROVED)
        return _to(
            call,
            CallState.EXECUTING,
            attempt=call.attempt + 1,
            executed_digest=executed,
        )

    return _each_call(progress, start_call)


def input_of(call: CallView) -> Any:
    """Return the input with which a call runs: as edited by a person, or its own."""
    return call.input if call.edited_input is None else call.edited_input


def give_back(progress: Progress, begun: Collection[str]) -> Progress:
    """Release the turn from its runner. Calls stored as running whose tools it has not begun never ran."""

    def give_call_back(call: CallView) -> CallView:
        if call.state != CallState.EXECUTING or call.tool_call_id in begun:
            return call
        return _to(call, CallState.READY, attempt=call.attempt - 1, executed_digest="")

    return _each_call(progress, give_call_back)


def recover(progress: Progress, idempotent: Collection[str]) -> Progress:
    """Recover from the death of the previous runner: calls of idempotent tools run again; the outcome of others is unknown.

    A call that was started MAX_RUNS times may itself crash the server, so a person is asked.
    """

    def recover_call(call: CallView) -> CallView:
        if call.state != CallState.EXECUTING:
            return call
        again = call.name in idempotent and call.attempt < MAX_RUNS
        return _to(call, CallState.READY if again else CallState.UNKNOWN)

    return _each_call(progress, recover_call)


def finish(
    progress: Progress,
    tool_call_id: str,
    attempt: int,
    *,
    output: Any = None,
    error_text: str = "",
) -> Progress:
    """Store the result or error of a call's run. Nothing changes if the call does not await the result of this run."""
    call = progress.call(tool_call_id)
    if call is None or (call.state, call.attempt) != (CallState.EXECUTING, attempt):
        return progress
    state = CallState.FAILED if error_text else CallState.SUCCEEDED
    return close(progress, tool_call_id, state, output=output, error_text=error_text)


def time_out(
    progress: Progress, tool_call_id: str, attempt: int, *, idempotent: bool
) -> Progress:
    """Time out a run: an idempotent tool runs again, MAX_RUNS times in all, and then fails.

    The outcome of any other is unknown until a person enters it, or a late result arrives.
    """

    def time_call_out(call: CallView) -> CallView:
        if (call.tool_call_id, call.state, call.attempt) != (
            tool_call_id,
            CallState.EXECUTING,
            attempt,
        ):
            return call
        if idempotent and call.attempt >= MAX_RUNS:
            error = (
                f"{call.name} did not end within its time limit, in {MAX_RUNS} tries."
            )
            return _to(call, CallState.FAILED, error_text=error)
        return _to(call, CallState.READY if idempotent else CallState.UNKNOWN)

    return _each_call(progress, time_call_out)


def close(
    progress: Progress,
    tool_call_id: str,
    state: CallState,
    *,
    output: Any = None,
    error_text: str = "",
) -> Progress:
    """End a call in this state."""
    return _one_call(
        progress,
        tool_call_id,
        lambda call: _to(call, state, output=output, error_text=error_text),
    )


def ask(
    progress: Progress, requests: Mapping[str, str], approvals: Collection[str]
) -> Progress:
    """Ask people about calls. `requests` holds request ids by toolCallId; those in `approvals` ask for approval."""

    def add_request(call: CallView) -> CallView:
        request_id = requests.get(call.tool_call_id)
        if request_id is None:
            return call
        if call.state == CallState.UNKNOWN:
            return replace(call, recovery_id=request_id)
        return replace(
            call,
            request_id=request_id,
            approval_id=request_id
            if call.tool_call_id in approvals
            else call.approval_id,
        )

    return _each_call(progress, add_request)


def approve(progress: Progress, tool_call_id: str) -> Progress:
    """Apply a person's approval that a call runs, or that it runs again."""
    return _one_call(progress, tool_call_id, lambda call: _to(call, CallState.READY))


def approve_unasked(
    progress: Progress,
    tool_call_id: str,
    approved_digest: str,
    digest_salt: str | None,
    *,
    by_rule: bool,
) -> Progress:
    """Apply an approval by a grant or a rule, given when the request was stored."""

    def approve_call(call: CallView) -> CallView:
        decided = replace(call, approved=True, decided=True, by_rule=by_rule)
        decided = replace(
            decided, approved_digest=approved_digest, digest_salt=digest_salt
        )
        return _to(decided, CallState.READY)

    return _one_call(progress, tool_call_id, approve_call)


def deny_unasked(progress: Progress, tool_call_id: str, reason: str) -> Progress:
    """Apply a denial by a rule, given when the request was stored."""

    def deny_call(call: CallView) -> CallView:
        decided = replace(
            call, approved=False, decided=True, reason=reason, by_rule=True
        )
        return _to(decided, CallState.DENIED, error_text=reason)

    return _one_call(progress, tool_call_id, deny_call)


def delegate(progress: Progress, tool_call_id: str) -> Progress:
    """Delegate a started call to a sub-agent, in whose chat other calls get ids."""
    delegated = _one_call(
        progress, tool_call_id, lambda call: _to(call, CallState.DELEGATED)
    )
    return replace(delegated, alone=False) if delegated.alone else delegated


def cancel_open(progress: Progress, reason: str) -> Progress:
    """End the turn before its calls: each gets a result, because models refuse a history with a call without one."""

    def cancel_call(call: CallView) -> CallView:
        if call.state in CLOSED:
            return call
        # The audit log has to say that the outcome is unknown.
        was = (
            CallState.UNKNOWN
            if call.state == CallState.EXECUTING
            else CallState(call.state)
        )
        error = OUTCOME_UNKNOWN if was == CallState.UNKNOWN else reason
        return _to(replace(call, state=was), CallState.CANCELLED, error_text=error)

    return _each_call(progress, cancel_call)


def _to(call: CallView, state: CallState, **fields: Any) -> CallView:
    assert state in CALL_TRANSITIONS[CallState(call.state)], (call.state, state)
    return replace(call, state=state, **fields)


def _one_call(
    progress: Progress, tool_call_id: str, change: Callable[[CallView], CallView]
) -> Progress:
    return _each_call(
        progress,
        lambda call: change(call) if call.tool_call_id == tool_call_id else call,
    )


def _each_call(progress: Progress, change: Callable[[CallView], CallView]) -> Progress:
    """Return the progress with `change` applied to each call of the last step."""
    if not progress.calls:
        return progress
    last = progress.steps[-1]
    calls = tuple(map(change, last.calls))
    if all(new is old for new, old in zip(calls, last.calls, strict=True)):
        return progress
    return replace(progress, steps=(*progress.steps[:-1], replace(last, calls=calls)))
