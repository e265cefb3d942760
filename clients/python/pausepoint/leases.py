"""The right to run an approved call, held by one process at a time: the resume lease of its request.

An approval lets a call run once. A second process waits, and gets the result that the first one reports. If the first one ends
without a result, it is unknown whether the call has run: a person is asked whether it may run again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pausepoint.desk import AsyncDesk, Desk, Outcome, Refused, Resume
from pausepoint.desk.asking import await_human
from pausepoint.desk.outcomes import outcome_of
from pausepoint.desk.requests import get
from pausepoint.desk.resuming import LEASE, give_back, take
from pausepoint.desk.transport import FIRST_PAUSE, Flow, Pause

#: Tells people and models about a call whose process ended without a result.
UNKNOWN = "An earlier run of this call ended before it reported a result, so it may have run already."
#: Maximum seconds between two attempts to claim a lease that another process holds.
LONGEST_PAUSE = 5.0
#: Fields of the first request that a request to run again keeps.
KEPT = ("tool_name", "thread_id", "agent", "priority", "response_schema")


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run a call, which is renewed until `stop` is called."""

    resume: Resume
    stop: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Claim:
    """The result of claiming an approval: with `resume`, the call runs; otherwise `outcome` says why not.

    `earlier` are approvals of runs that ended without a result; `outcome` is then that of the last request.
    """

    outcome: Outcome
    earlier: tuple[Outcome, ...] = ()
    resume: Resume | None = None


def claim(patience: float, outcome: Outcome, extra: Mapping[str, Any]) -> Flow[Claim]:
    """Claim the right to run an approved call; `extra` are additional fields of a request to run again. Raise StillWaiting,
    Refused or Unreachable.
    """
    earlier: tuple[Outcome, ...] = ()
    while outcome.approved and outcome.result is None:
        resume = yield from _claim_lease(patience, outcome.request_id)
        if resume is None:
            outcome = outcome_of((yield from get(patience, outcome.request_id)))
        else:
            outcome = resume.outcomes[outcome.request_id]
            if outcome.result is None and not resume.taken[0].document.get("lost_by"):
                return Claim(outcome, earlier, resume)
            yield from give_back(resume.taken, "The call was not run again.")
        if outcome.result is not None:
            break
        again = yield from _ask_again(patience, outcome, extra)
        # The first process may just have been slow.
        late = outcome_of((yield from get(patience, outcome.request_id)))
        if late.result is not None:
            return Claim(late, earlier)
        earlier, outcome = (*earlier, outcome), again
    return Claim(outcome, earlier)


def _claim_lease(patience: float, request_id: str) -> Flow[Resume | None]:
    """Claim the lease of a request as soon as no other process has it; None if one has completed it."""
    pause = FIRST_PAUSE
    while True:
        try:
            return (yield from take(patience, [request_id], "", LEASE))
        except Refused as refused:
            if refused.code == "already_resumed":
                return None
            if refused.code != "resume_taken":
                raise
        yield Pause(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _ask_again(
    patience: float, outcome: Outcome, extra: Mapping[str, Any]
) -> Flow[Outcome]:
    """Ask a person whether a call may run again; all processes that get here share one request."""
    document = outcome.document
    where = f" [It was approved here]({url})." if (url := document.get("url")) else ""
    fields: Any = {name: document[name] for name in KEPT if document.get(name)}
    fields |= extra
    give_up_after = fields.pop("give_up_after", None)
    fields |= {
        "tool_call_id": f"again-{outcome.request_id}",
        "input": dict(outcome.input or {}),
        "message": f"{UNKNOWN}{where} Find out what it has done before you decide.",
    }
    title = f"Run {document.get('tool_name') or 'this call'} again?"
    return (yield from await_human(patience, title[:200], "", give_up_after, fields))


def keep(desk: Desk, resume: Resume) -> Lease:
    """Renew a lease in a thread."""
    over = threading.Event()
    threading.Thread(target=desk._keep, args=(resume, over), daemon=True).start()
    return Lease(resume, over.set)


def akeep(desk: Desk | AsyncDesk, resume: Resume) -> Lease:
    """Renew a lease while the current task lives, which may be cancelled without notice."""
    lease = (
        keep(desk, resume)
        if isinstance(desk, Desk)
        else Lease(resume, asyncio.create_task(desk._keep(resume)).cancel)
    )
    if task := asyncio.current_task():
        task.add_done_callback(lambda _task: lease.stop())
    return lease
