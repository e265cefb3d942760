"""Where the server is killed: each write point of a turn, by name. Used by the server that `launcher.py` starts.

A point is armed by writing its name into the control file; the first to reach it takes the file away and kills its own
process with SIGKILL, so that nothing of it runs any further: no `finally`, no rollback, no good-bye.
"""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from approvals import signals
from approvals.actions import ending as ending_of_requests
from approvals.outbound import outbox
from chats import actions, doorbell
from chats.actions import answering, calling, claiming, delegating, ending, posting, resuming, stepping, turn_ends
from chats.agent import events
from chats.engine.ledger import Ledger
from chats.models import Turn

CONTROL = "CRASH_CONTROL_FILE"


def die_at(point: str) -> None:
    """Kill this process, if the point is armed."""
    control = Path(os.environ[CONTROL])
    try:
        armed = control.read_text()
    except FileNotFoundError:
        return
    if armed == point:
        control.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def before(point: str, owner: Any, name: str) -> None:
    _wrap(owner, name, lambda work, *args, **kwargs: (die_at(point), work(*args, **kwargs))[1])


def after(point: str, owner: Any, name: str) -> None:
    def run(work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        result = work(*args, **kwargs)
        die_at(point)
        return result

    _wrap(owner, name, run)


def _wrap(owner: Any, name: str, run: Callable[..., Any]) -> None:
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(functools.partial(run, original)))


def started(point: str) -> None:
    """After a commit in which a turn was claimed and the calls that were approved were started."""
    for owner, name in ((actions, "begin_run"), (claiming, "continue_turn")):
        _wrap(owner, name, functools.partial(_die_if_started, point))


def _die_if_started(point: str, work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    begun = work(*args, **kwargs)
    if begun is not None and begun[-1]:
        die_at(point)
    return begun


def held(point: str, *, noted: bool) -> None:
    """Around the moment in which a runner notes the result of an idempotent tool, which its next commit stores."""
    apply = Ledger.apply

    def applied(ledger: Ledger, transition: Any) -> None:
        if not noted:
            die_at(point)
        apply(ledger, transition)
        if noted:
            die_at(point)

    Ledger.apply = applied  # type: ignore[method-assign]


def mid_stream(point: str, step: int) -> None:
    """At the third piece of text of a step."""
    record, seen = Ledger.record, []

    def recorded(ledger: Ledger, event: events.Event) -> None:
        record(ledger, event)
        if isinstance(event, events.TextDelta) and ledger.step == step:
            seen.append(event)
            if len(seen) >= 3:
                die_at(point)

    Ledger.record = recorded  # type: ignore[method-assign]


#: Name, and how to get there. "in" is inside the transaction, before its commit; the others are between two commits.
POINTS: dict[str, Callable[[str], None]] = {
    "arrive, in": lambda p: after(p, posting, "start_turn"),
    "arrive": lambda p: before(p, doorbell, "notify_claimed"),
    "mid-stream": lambda p: mid_stream(p, 0),
    "step stored, in": lambda p: after(p, stepping, "store"),
    "pause commit, in": lambda p: after(p, stepping, "suspend"),
    "pause commit": lambda p: after(p, actions, "pause_turn"),
    "decision commit, in": lambda p: after(p, ending_of_requests, "publish_event"),
    "decision commit": lambda p: before(p, signals.decided, "send_robust"),
    "resume, in": lambda p: after(p, claiming, "settle_requests"),
    "resume": lambda p: after(p, claiming, "continue_turn"),
    "tool claimed": started,
    "side effect done but not recorded": lambda p: before(p, actions, "record_run"),
    "recorded, in": lambda p: after(p, calling, "result_event"),
    "recorded": lambda p: after(p, actions, "record_run"),
    "mid-stream of the continuation": lambda p: mid_stream(p, 1),
    "final commit, in": lambda p: after(p, turn_ends, "write_together"),
    "final commit": lambda p: after(p, actions, "finish_turn"),
    "outbox row claimed": lambda p: after(p, outbox, "claim_event"),
    "outbox row delivered": lambda p: after(p, outbox, "load_handler"),
}

#: In a process whose turns come from a queue.
QUEUED: dict[str, Callable[[str], None]] = {
    "claim": lambda p: after(p, actions, "begin_run"),
    "resume, in": lambda p: after(p, resuming, "resume_locked"),
    "resume": lambda p: after(p, claiming, "resume_turn"),
}

#: Around a call of an idempotent tool, which the commit of its step starts and the commit after it records.
REPEATABLE: dict[str, Callable[[str], None]] = {
    "step commit, in": lambda p: after(p, stepping, "begin_calls"),
    "step commit": lambda p: after(p, actions, "commit_step"),
    "side effect done but not noted": lambda p: held(p, noted=False),
    "noted but not recorded": lambda p: held(p, noted=True),
    "recorded with the end, in": lambda p: after(p, ending, "store"),
    "recorded with the end": POINTS["final commit"],
}

#: Around the commit in which an AI SDK client decides, and its turn is claimed and the approved call started.
ANSWERED: dict[str, Callable[[str], None]] = {
    "answer decided, in": lambda p: after(p, answering, "_decide"),
    "answer commit, in": lambda p: after(p, answering, "continue_locked"),
    "answer commit": lambda p: before(p, answering, "hand_over"),
}

#: Between an agent and its sub-agent.
NESTED: dict[str, Callable[[str], None]] = {
    "delegation, in": lambda p: after(p, delegating, "_begin"),
    "delegation": lambda p: after(p, actions, "delegate_calls"),
    "the pause above, in": lambda p: above(p, stepping, "suspend"),
    "waking above": lambda p: above(p, resuming, "queue_turn"),
    "the end below": lambda p: after(p, actions, "finish_turn"),
    "settling, in": lambda p: after(p, delegating, "_output"),
    "settling": lambda p: after(p, actions, "settle_delegated"),
}


def above(point: str, owner: Any, name: str) -> None:
    """In the transaction of the turn at the top only."""

    def run(work: Callable[..., Any], subject: Any, *args: Any, **kwargs: Any) -> Any:
        result = work(subject, *args, **kwargs)
        turn = Turn.objects.get(pk=subject) if isinstance(subject, int) else getattr(subject, "turn", subject)
        if turn.depth == 0:
            die_at(point)
        return result

    _wrap(owner, name, run)
