"""LlamaIndex workflows: people answer `InputRequiredEvent`, and the workflow continues with a `HumanResponseEvent`.

    result = await run_with_desk(workflow, desk, thread_id="order-4711", order="4711")

Install with `pip install "pausepoint[llamaindex]"`.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from workflows import Context, Workflow
from workflows.events import HumanResponseEvent, InputRequiredEvent
from workflows.handler import WorkflowHandler

from pausepoint import calls, gate
from pausepoint.calls import ToolCall
from pausepoint.desk import AsyncDesk, Outcome
from pausepoint.gate import AnyDesk, Ruling

#: Stores the state of a paused run, as JSON text.
Save = Callable[[str], Awaitable[None]]


async def run_with_desk(
    workflow: Workflow,
    desk: AnyDesk,
    *,
    thread_id: str,
    state: str = "",
    save: Save | None = None,
    asked: dict[str, Any] | None = None,
    **start: Any,
) -> Any:
    """Run a workflow, ask people about each `InputRequiredEvent`, and return its result.

    An event with the fields `tool` and `input` asks whether that call may run. Any other asks a question: its `prefix`, with its
    `options`, if it has any. The workflow receives a `HumanResponseEvent` with `response` (the status or the answer), `approved`,
    `halted` (whether the policy stops the run), `input` (the approved one), `comment`, `by`, `request_id`, and the `id` of the
    event, if it has one. Raise Unreadable for a call without an input. `run_approved` runs the call.

    `thread_id` names the run: a restarted program with the same one finds its requests. `save` gets the state at each pause; with
    that as `state`, a run continues without repeating earlier steps. `asked` are additional fields of each request, and `start`
    those of the workflow's start event.
    """
    stored = json.loads(state) if state else {"open": [], "counts": {}}
    handler = (
        workflow.run(ctx=Context.from_dict(workflow, stored["context"]))
        if state
        else workflow.run(**start)
    )
    run = _Run(handler, desk, thread_id, asked or {}, stored)
    try:
        async with asyncio.TaskGroup() as group:
            waiting = [group.create_task(run.answer(event)) for event in list(run.open)]
            async for event in handler.stream_events():
                if isinstance(event, InputRequiredEvent):
                    noted = run.note(_fields(event))
                    if save is not None:
                        await save(run.state())
                    waiting.append(group.create_task(run.answer(noted)))
            for task in waiting:
                task.cancel()
    except BaseExceptionGroup as failed:
        # Errors of the desk are raised as they are.
        await handler.cancel_run()
        raise failed.exceptions[0] from None
    return await handler


async def run_approved(
    desk: AnyDesk, response: HumanResponseEvent, tool: Callable[..., Any]
) -> Any:
    """Run the approved call of a `HumanResponseEvent`, report and return its result; for the step that runs it.

    It runs in one process. If another one has reported its result, that is returned, or HasFailed is raised. If another one ended
    without a result, a person is asked whether it may run again, or NotApproved is raised.
    """
    if not response.approved:
        raise ValueError(
            f"Request {response.request_id} was not approved, so its call must not run."
        )
    ruling = await gate.aclaimed(
        desk, Ruling(await _outcome(desk, response), question=False), {}
    )
    return await gate.arun(desk, ruling, tool, **ruling.input)


async def report(
    desk: AnyDesk,
    response: HumanResponseEvent,
    *,
    output: Any = None,
    error: Any = None,
) -> None:
    """Report the result of an approved call that a step has run itself, without `run_approved`."""
    await gate.areport(desk, await _outcome(desk, response), output=output, error=error)


async def _outcome(desk: AnyDesk, response: HumanResponseEvent) -> Outcome:
    if isinstance(desk, AsyncDesk):
        return await desk.wait(response.request_id)
    return await asyncio.to_thread(desk.wait, response.request_id)


class _Run:
    """The events of one run that people are asked about."""

    def __init__(
        self,
        handler: WorkflowHandler,
        desk: AnyDesk,
        thread_id: str,
        extra: dict[str, Any],
        stored: dict[str, Any],
    ) -> None:
        self.handler, self.desk, self.thread_id, self.extra = (
            handler,
            desk,
            thread_id,
            extra,
        )
        #: Events without an answer, each with its `key`. A continued workflow does not emit them again.
        self.open: list[dict[str, Any]] = stored["open"]
        self.counts = Counter(stored["counts"])

    def state(self) -> str:
        context = self.handler.ctx
        assert context is not None
        return json.dumps(
            {"context": context.to_dict(), "open": self.open, "counts": self.counts}
        )

    def note(self, event: dict[str, Any]) -> dict[str, Any]:
        """Add an event to the pending ones, under a key that is the same whenever the run is repeated."""
        content = self.desk.name_of(json.dumps(event, sort_keys=True, default=str))
        self.counts[content] += 1
        noted = {
            "key": str(event.get("id") or f"{content}-{self.counts[content]}"),
            "event": event,
        }
        self.open.append(noted)
        return noted

    async def answer(self, noted: dict[str, Any]) -> None:
        event = noted["event"]
        outcome = await self._ask(noted["key"], event)
        self.open.remove(noted)
        context = self.handler.ctx
        assert context is not None
        event_id = {"id": event["id"]} if "id" in event else {}
        context.send_event(HumanResponseEvent(**event_id, **_response(event, outcome)))

    async def _ask(self, key: str, event: dict[str, Any]) -> Outcome:
        prefix = str(event.get("prefix") or "")
        if "tool" in event:
            name = str(event["tool"])
            call = ToolCall(
                name,
                key,
                calls.readable_input(name, event.get("input")),
                self.thread_id,
            )
            title, message = calls.title_and_message(prefix or call.title)
            return await gate.await_human(
                self.desk, title, **{**call.approval(), **message, **self.extra}
            )
        call = ToolCall(
            "ask_human",
            key,
            {"question": prefix, "options": event.get("options")},
            self.thread_id,
        )
        return await gate.await_human(
            self.desk, call.question_title, **{**call.question(), **self.extra}
        )


def _fields(event: InputRequiredEvent) -> dict[str, Any]:
    """Return the fields of an event, both those declared by its class and others."""
    declared = event.model_dump(mode="json")
    return {**declared.pop("_data", {}), **declared}


def _response(event: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    return {
        "response": outcome.status if "tool" in event else calls.answer_text(outcome),
        "approved": outcome.approved,
        "halted": outcome.halted,
        "input": None if outcome.input is None else dict(outcome.input),
        "comment": outcome.comment,
        "by": outcome.by,
        "request_id": outcome.request_id,
    }
