"""Shared code of the durable helpers: pending requests are stored with the run's state, and resumed once by any process.

A run is stored with the last of its requests. All its requests share one workflow, so that each leads to the others.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pausepoint.desk import LEASE, Asked, AsyncDesk, DeskError, Outcome, Refused, Resume
from pausepoint.desk.errors import mapping, member
from pausepoint.gate import Wanted, aask, logger


@dataclass(frozen=True, slots=True)
class Resumption:
    """The result of a durable helper. `output` is the framework's return value, if this call has run something."""

    #: `waiting` for people (`requests`), `taken` by another process (`by`), or `finished`.
    status: Literal["waiting", "taken", "finished"]
    output: Any = None
    requests: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    by: str = ""

    @property
    def request_ids(self) -> list[str]:
        return [str(request["id"]) for request in self.requests]


class NotYet(Exception):
    """Ends `stored_run` without a run: people have to decide first, or another process was faster."""

    def __init__(self, resumption: Resumption) -> None:
        self.resumption = resumption
        super().__init__(resumption.status)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run that only this process resumes. `outcomes` are by the id of the call."""

    run: Any
    workflow_id: str
    thread_id: str
    outcomes: Mapping[str, Outcome]
    resume: Resume


async def store(
    desk: AsyncDesk,
    wanted: Sequence[Wanted],
    run: Any,
    *,
    workflow_id: str = "",
    workflow_title: str = "",
) -> Resumption:
    """Ask about all calls that a run waits for, and keep its state (`run`, JSON) with the last request."""
    workflow: Asked = {"workflow_id": workflow_id or f"run-{uuid.uuid4()}"}
    if workflow_title:
        workflow["workflow_title"] = workflow_title
    requests: list[Mapping[str, Any]] = []
    for place, call in enumerate(wanted, 1):
        more: dict[str, Any] = {**call.fields, **workflow}
        if place == len(wanted):
            known = {
                earlier.call.id: request["id"]
                for earlier, request in zip(wanted, requests, strict=False)
            }
            more["resume_state"] = json.dumps(
                {"run": run, "requests": known, "last": call.call.id},
                ensure_ascii=False,
            )
        requests.append(await aask(desk, call.title, more))
    return Resumption("waiting", requests=requests)


@contextlib.asynccontextmanager
async def stored_run(
    desk: AsyncDesk, request_id: str, *, by: str = "", lease: int = LEASE
) -> AsyncIterator[StoredRun]:
    """Take the run that waits for this request and others. Raise NotYet, Refused, LeaseLost or Unreachable."""
    # The list is newest first, and the state was stored with the last request of a pause.
    request = await desk.get(request_id)
    workflow_id, thread_id = (
        member(request, "workflow_id", str),
        member(request, "thread_id", str),
    )
    pause = await desk.list(workflow=workflow_id)
    waiting = [
        request for request in pause if member(request, "status", str) == "pending"
    ]
    if waiting:
        raise NotYet(Resumption("waiting", requests=waiting))
    async with contextlib.AsyncExitStack() as held:
        try:
            last, request_id = await _take_state(
                desk, held, [member(request, "id", str) for request in pause], by, lease
            )
            stored = json.loads(last.state or "")
            ids = {**stored["requests"], stored["last"]: request_id}
            rest = list(stored["requests"].values())
            more = (
                await held.enter_async_context(desk.resume(*rest, by=by, lease=lease))
                if rest
                else None
            )
        except Refused as refused:
            raise NotYet(taken_by_other(refused)) from refused
        taken = {
            each.request_id: each
            for each in [*last.taken, *(more.taken if more else ())]
        }
        yield StoredRun(
            run=stored["run"],
            workflow_id=workflow_id,
            thread_id=thread_id,
            outcomes={call: taken[known].outcome for call, known in ids.items()},
            resume=last,
        )


async def _take_state(
    desk: AsyncDesk,
    held: contextlib.AsyncExitStack,
    request_ids: Sequence[str],
    by: str,
    lease: int,
) -> tuple[Resume, str]:
    """Take the first of these requests that has a state. Earlier ones belong to a process that died before it stored its run,
    so they are finally released.
    """
    for request_id in request_ids:
        resume = await held.enter_async_context(
            desk.resume(request_id, by=by, lease=lease)
        )
        if resume.state is not None:
            return resume, request_id
        resume.give_back("No run was stored with this request.")
    raise ValueError(f"Request {request_ids[0]} was made without the state of a run.")


def taken_by_other(refused: Refused, output: Any = None) -> Resumption:
    """Return that another process resumes; raise any other refusal again."""
    if refused.code not in {"resume_taken", "already_resumed"}:
        raise refused
    return Resumption(
        "taken", output, by=str(mapping(refused.problem.get("resume")).get("by") or "")
    )


async def end_workflow(desk: AsyncDesk, workflow_id: str) -> None:
    """End the workflow of a finished run. If that fails, only log it: it is no reason to repeat the run."""
    try:
        await desk.end_workflow(workflow_id)
    except DeskError:
        logger.exception("The workflow %s could not be ended.", workflow_id)
