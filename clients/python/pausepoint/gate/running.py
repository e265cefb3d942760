"""Run an approved call once, in one process, and report its result."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pausepoint import calls, leases
from pausepoint.desk import AsyncDesk, Desk, DeskError, Outcome
from pausepoint.desk.resuming import complete, give_back
from pausepoint.gate.asking import AnyDesk
from pausepoint.gate.errors import Halted, HasFailed, NotApproved
from pausepoint.gate.rulings import Ruling
from pausepoint.leases import Claim, Lease

logger = logging.getLogger("pausepoint")
#: Seconds that a stopped call may take to report that.
STOPPING = 5.0
#: Why a call is released.
NOT_RUN = "The call did not run."


def claimed(desk: Desk, ruling: Ruling, extra: Mapping[str, Any]) -> Ruling:
    """Claim the right to run a call. If another process has it, wait; if that ended without a result, ask a person again."""
    if not ruling.runs:
        return ruling
    claim = desk._run(leases.claim(desk.patience, ruling.outcome, extra))
    return _of_claim(
        ruling, claim, leases.keep(desk, claim.resume) if claim.resume else None
    )


async def aclaimed(desk: AnyDesk, ruling: Ruling, extra: Mapping[str, Any]) -> Ruling:
    """Like `claimed`, without blocking the event loop."""
    if not ruling.runs:
        return ruling
    flow = leases.claim(desk.patience, ruling.outcome, extra)
    claim = await (
        asyncio.to_thread(desk._run, flow)
        if isinstance(desk, Desk)
        else desk._run(flow)
    )
    return _of_claim(
        ruling, claim, leases.akeep(desk, claim.resume) if claim.resume else None
    )


def _of_claim(ruling: Ruling, claim: Claim, lease: Lease | None) -> Ruling:
    return replace(ruling, outcome=claim.outcome, earlier=claim.earlier, lease=lease)


def report(
    desk: Desk,
    outcome: Outcome,
    *,
    output: Any = None,
    error: BaseException | None = None,
) -> bool:
    """Report the result of an approved call; return whether it is stored. If not, log it: the agent still needs the result."""
    try:
        desk.report(outcome, **calls.result_fields(output, error))
    except DeskError:
        logger.exception(
            "The result of request %s could not be reported.", outcome.request_id
        )
        return False
    return True


async def areport(
    desk: AnyDesk,
    outcome: Outcome,
    *,
    output: Any = None,
    error: BaseException | None = None,
) -> bool:
    """Like `report`, without blocking the event loop."""
    if not isinstance(desk, AsyncDesk):
        return await asyncio.to_thread(
            report, desk, outcome, output=output, error=error
        )
    try:
        await desk.report(outcome, **calls.result_fields(output, error))
    except DeskError:
        logger.exception(
            "The result of request %s could not be reported.", outcome.request_id
        )
        return False
    return True


def ended(
    desk: Desk,
    ruling: Ruling,
    *,
    output: Any = None,
    error: BaseException | None = None,
) -> None:
    """Report the result of a claimed call, and complete its lease. Without a report, the lease expires: the result is unknown."""
    if ruling.lease:
        ruling.lease.stop()
    if report(desk, ruling.outcome, output=output, error=error) and ruling.lease:
        with _logged(ruling):
            desk._run(complete(desk.patience, ruling.lease.resume))


async def aended(
    desk: AnyDesk,
    ruling: Ruling,
    *,
    output: Any = None,
    error: BaseException | None = None,
) -> None:
    """Like `ended`, without blocking the event loop, and only briefly if the run was stopped."""
    if ruling.lease:
        ruling.lease.stop()
    stopped = error is not None and not isinstance(error, Exception)
    with _logged(ruling):
        async with asyncio.timeout(STOPPING if stopped else None):
            if isinstance(desk, Desk):
                await asyncio.to_thread(ended, desk, ruling, output=output, error=error)
            elif (
                await areport(desk, ruling.outcome, output=output, error=error)
                and ruling.lease
            ):
                await desk._run(complete(desk.patience, ruling.lease.resume))


@contextlib.contextmanager
def _logged(ruling: Ruling) -> Iterator[None]:
    """Log errors after a call instead of raising them: the agent still needs the result."""
    try:
        yield
    except (DeskError, TimeoutError):
        logger.exception(
            "The lease of request %s could not be completed.", ruling.outcome.request_id
        )


def release(desk: Desk, ruling: Ruling) -> None:
    """Release a claimed call that did not run, so that it can be claimed at once."""
    if ruling.lease:
        ruling.lease.stop()
        desk._run(give_back(ruling.lease.resume.taken, NOT_RUN))


async def arelease(desk: AnyDesk, ruling: Ruling) -> None:
    """Like `release`, without blocking the event loop."""
    if isinstance(desk, Desk):
        await asyncio.to_thread(release, desk, ruling)
    elif ruling.lease:
        ruling.lease.stop()
        await desk._run(give_back(ruling.lease.resume.taken, NOT_RUN))


def run(
    desk: Desk, ruling: Ruling, act: Callable[..., Any], /, *values: Any, **named: Any
) -> Any:
    """Run a claimed call, report its result and return it; if the call has run before, return the reported result.

    Raise NotApproved (Halted if the run has to stop), HasFailed, and the call's own errors.
    """
    if not ruling.runs:
        return _known_output(ruling)
    try:
        output = _whole(act(*values, **named))
    except BaseException as error:
        ended(desk, ruling, error=error)
        raise
    ended(desk, ruling, output=output)
    return output


async def arun(
    desk: AnyDesk,
    ruling: Ruling,
    act: Callable[..., Any],
    /,
    *values: Any,
    **named: Any,
) -> Any:
    """Like `run`, without blocking the event loop for the report; the call may be a coroutine function."""
    if not ruling.runs:
        return _known_output(ruling)
    try:
        output = act(*values, **named)
        output = _whole(await output if inspect.isawaitable(output) else output)
    except BaseException as error:
        await aended(desk, ruling, error=error)
        raise
    await aended(desk, ruling, output=output)
    return output


def _whole(output: Any) -> Any:
    """Return the output of a call, or raise TypeError for a generator, which would run after its result was reported."""
    if inspect.isgenerator(output) or inspect.isasyncgen(output):
        raise TypeError(
            "An approved call may not return a generator, which runs later. Return a list."
        )
    return output


def _known_output(ruling: Ruling) -> Any:
    result = ruling.outcome.result
    if not ruling.outcome.approved or result is None:
        refused = Halted if ruling.outcome.halted else NotApproved
        raise refused(ruling.outcome, ruling.text)
    if result.get("state") != "succeeded":
        raise HasFailed(calls.known_result(result))
    return result.get("output")
