"""Invariants of a turn after any sequence of transitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.asking.digests import input_digest
from chats.actions import transitions
from chats.actions.transitions import MAX_RUNS, Changes, Transition
from chats.queries.progress import Progress
from chats.queries.values import CallView, StepView
from chats.states import CALL_TRANSITIONS, CLOSED, CallState
from tests.support.chats.calls import call, made_of, progress

WAITING, READY, EXECUTING, UNKNOWN, FAILED = (
    CallState.WAITING,
    CallState.READY,
    CallState.EXECUTING,
    CallState.UNKNOWN,
    CallState.FAILED,
)
#: Of the tools that these tests call: the idempotent ones.
IDEMPOTENT = frozenset({"look_up"})


@dataclass(frozen=True)
class Happening:
    """Something that happens to a turn: a function of `transitions`, to which call if to one, and to its run so many ago."""

    name: str
    values: dict[str, Any]
    place: int = 0
    ago: int = 0

    def to(self, before: Progress) -> Transition:
        """Return it as a transition of a turn that is as far as this."""
        values = dict(self.values)
        if self.name in {"finish", "time_out", "close", "approve", "delegate"}:
            chosen = before.calls[self.place % len(before.calls)] if before.calls else call()
            values["tool_call_id"] = chosen.tool_call_id
            if self.name in {"finish", "time_out"}:
                values["attempt"] = chosen.attempt - self.ago
            if self.name == "time_out":
                values["idempotent"] = chosen.name in IDEMPOTENT
        function: Callable[..., Progress] = getattr(transitions, self.name)
        return lambda progress: function(progress, **values)


def happening(name: str, **values: st.SearchStrategy[Any]) -> st.SearchStrategy[Happening]:
    return st.builds(
        Happening, st.just(name), st.fixed_dictionaries(values), st.integers(0, 2), st.sampled_from([0, 0, 0, 1])
    )


start = happening("start", names=st.just({"look_up", "pay"}), salts=st.just({}))
happenings = st.one_of(
    start,
    start,
    start,
    happening("give_back", begun=st.sets(st.sampled_from("abc"))),
    happening("recover", idempotent=st.just(IDEMPOTENT)),
    happening("time_out"),
    happening("approve"),
    happening("finish", error_text=st.sampled_from(["", "no"])),
    happening("delegate"),
    happening("close", state=st.sampled_from(sorted(CLOSED)), output=st.integers(0, 2)),
    happening("cancel_open", reason=st.just("over")),
)


def some_call(state: CallState, tool_call_id: str, *, name: str, runs: int, **given: Any) -> CallView:
    """Return a call that has run so often, if it can have."""
    most = 0 if state == WAITING else runs if name in IDEMPOTENT else 1
    return call(state, tool_call_id, name=name, attempt=most - (state == READY and most > 0), **given)


some_calls = st.lists(
    st.builds(
        some_call,
        st.sampled_from([READY, READY, WAITING, EXECUTING, UNKNOWN, FAILED]),
        st.sampled_from("abc"),
        name=st.sampled_from(["look_up", "pay"]),
        runs=st.integers(1, MAX_RUNS),
        request_id=st.sampled_from(["", "r"]),
        approved_digest=st.sampled_from([input_digest({"amount": 5}), ""]),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda each: each.tool_call_id,
)


def applied(before: Progress, made: Changes) -> tuple[StepView, ...]:
    """Return the steps as they are once the changes are stored."""
    changed = {each.tool_call_id: each for each in made.calls}
    last = [
        replace(step, calls=tuple(changed.get(c.tool_call_id, c) for c in step.calls)) for step in before.steps[-1:]
    ]
    return (*before.steps[:-1], *last, *made.steps)


def changed_calls(before: Progress, after: Progress) -> list[tuple[CallView, CallView]]:
    """Return each call of the last step of `before` that differs, as it was and as it is."""
    later = {each.tool_call_id: each for each in after.steps[len(before.steps) - 1].calls}
    return [(was, later[was.tool_call_id]) for was in before.calls if was != later[was.tool_call_id]]


def check(happened: Happening, before: Progress, after: Progress) -> None:
    """Check the invariants of each transition."""
    changed = changed_calls(before, after)
    assert bool(changed) == (after is not before)
    assert happened.ago == 0 or happened.name not in {"finish", "time_out"} or after is before
    assert happened.name != "cancel_open" or {each.state for each in after.calls} <= CLOSED
    for was, now in changed:
        by_way_of = UNKNOWN if (was.state, happened.name) == (EXECUTING, "cancel_open") else was.state
        assert now.state in CALL_TRANSITIONS[CallState(by_way_of)]
        assert now.attempt - was.attempt == (now.state == EXECUTING) - (happened.name == "give_back")
        assert now.state != EXECUTING or not now.request_id or now.approved_digest == now.executed_digest


@settings(max_examples=200)
@given(some_calls, st.lists(happenings | some_calls, min_size=3, max_size=12))
def test_what_holds_after_any_sequence(calls, sequence):
    """A list of calls in the sequence is a further step, which is made if every call of the one before is closed."""
    versions = [progress(*calls)]
    more_runs: Counter[str] = Counter()
    for happened in sequence:
        before = versions[-1]
        if isinstance(happened, list):
            if {each.state for each in before.calls} <= CLOSED:
                versions.append(transitions.add_step(before, StepView([], tuple(happened))))
                more_runs.clear()
            continue
        after = made_of(before, happened.to(before))
        if after is None:
            continue
        check(happened, before, after)
        if happened.name == "approve":
            more_runs.update(was.tool_call_id for was, _ in changed_calls(before, after) if was.state != WAITING)
        for each in after.calls:
            assert each.attempt <= (MAX_RUNS if each.name in IDEMPOTENT else 1) + more_runs[each.tool_call_id]
        versions.append(after)
    for number, before in enumerate(versions):
        for after in versions[number:]:
            made = transitions.changes(before, after)
            assert (made.first, made.calls) == (len(before.steps), [now for _, now in changed_calls(before, after)])
            assert applied(before, made) == after.steps
