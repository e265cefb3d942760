"""What LlamaIndex workflows do at a pause, without Pausepoint: `at_a_pause.py THREAD`."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import program
from pausing import ran, refund, sibling, tell, twice
from workflows import Context, Workflow, step
from workflows.events import Event, HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent


class Free(Event):
    """A call that no one has to be asked about."""


class Told(Event):
    """What a call has come to."""


class Calls(Workflow):
    """Asks about two calls, and has a free one beside them."""

    @step
    async def propose(self, ctx: Context, ev: StartEvent) -> Free:
        for name in ("refund", "drop"):
            ctx.write_event_to_stream(InputRequiredEvent(prefix=f"May I {name}?", name=name))
        return Free()

    @step
    async def look(self, ev: Free) -> Told:
        program.look("4711")
        return Told(name="look")

    @step(num_workers=2)
    async def carry_out(self, ev: HumanResponseEvent) -> Told:
        if ev.response == "yes":
            await asyncio.to_thread(refund, **program.REFUND)
        return Told(name=ev.name)

    @step
    async def collect(self, ctx: Context, ev: Told) -> StopEvent | None:
        return StopEvent(result="done") if ctx.collect_events(ev, [Told] * 3) else None


async def pause() -> str:
    handler = Calls(timeout=None).run()
    asked = 0
    async for event in handler.stream_events():
        asked += isinstance(event, InputRequiredEvent)
        if asked == 2:
            break
    while "looked" not in program.RAN:
        await asyncio.sleep(0.01)
    stored = json.dumps(handler.ctx.to_dict())
    await handler.cancel_run()
    return stored


async def resume(stored: str, wait: float, **answers: str) -> Any:
    workflow = Calls(timeout=None)
    handler = workflow.run(ctx=Context.from_dict(workflow, json.loads(stored)))
    for name, answer in answers.items():
        handler.ctx.send_event(HumanResponseEvent(response=answer, name=name))
    try:
        async with asyncio.timeout(wait):
            return await handler
    except TimeoutError:
        return "it waits"


stored = asyncio.run(pause())
seen = {"sibling": sibling()}
ended = asyncio.run(resume(stored, 1, refund="yes"))
seen["partial"] = {(True, "it waits"): "runs and waits"}[ran() == [[*program.REFUND.values()]], ended]
seen["resumers"] = twice(lambda: asyncio.run(resume(stored, 10, refund="yes", drop="no")))
tell(
    "llama-index-workflows",
    **seen,
    condition="none",
    changed="yours",
    rejected="yours",
    words="yes",
    restart="context",
    id="none",
)
