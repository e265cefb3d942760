"""LlamaIndex workflows: `agent.py THREAD [names | waits | state FILE]`, the page's own one and others that ask several things."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import program
from pausepoint import AsyncDesk
from workflows import Context, Workflow, step
from workflows.events import Event, HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent

THREAD = sys.argv[1]
FILE = Path(sys.argv[3]) if "state" in sys.argv[2:] else None


class Decided(Event):
    """The decision on one of three."""


class Several(Workflow):
    """Asks three things at once."""

    @step
    async def propose(self, ctx: Context, ev: StartEvent) -> InputRequiredEvent | None:
        program.RAN.append("proposed")
        for name, args in (("refund", program.REFUND), ("drop", program.DROP)):
            ctx.write_event_to_stream(
                InputRequiredEvent(prefix=f"May I {name}?\nIt is urgent.", tool=name, input=args, id=name)
            )
        return InputRequiredEvent(prefix="Which colour?", options=["red", "blue"], id="ask_human")

    @step
    async def carry_out(self, ev: HumanResponseEvent) -> Decided:
        if ev.approved:
            try:
                await names["run_approved"](desk, ev, getattr(program, ev.id))
            except Exception as error:
                return Decided(id=ev.id, said=[ev.response, f"{type(error).__name__}: {error}", ev.by])
        return Decided(id=ev.id, said=[ev.response, ev.comment, ev.by])

    @step
    async def collect(self, ctx: Context, ev: Decided) -> StopEvent | None:
        found = ctx.collect_events(ev, [Decided] * 3)
        return found and StopEvent(result={one.id: one.said for one in found})


class Wanted(Event):
    """One of two calls that people are asked about."""


class Waits(Workflow):
    """Asks about two calls at once, each in a step that waits for its answer."""

    @step
    async def propose(self, ctx: Context, ev: StartEvent) -> Wanted | None:
        for name in ("refund", "drop"):
            ctx.send_event(Wanted(id=name))

    @step(num_workers=2)
    async def ask(self, ctx: Context, ev: Wanted) -> Decided:
        wanted = getattr(program, ev.id.upper())
        asked = InputRequiredEvent(prefix=f"May I {ev.id}?", tool=ev.id, input=wanted, id=ev.id)
        answer = await ctx.wait_for_event(
            HumanResponseEvent, waiter_id=ev.id, waiter_event=asked, requirements={"id": ev.id}
        )
        return Decided(id=ev.id, said=[answer.response, answer.comment])

    @step
    async def collect(self, ctx: Context, ev: Decided) -> StopEvent | None:
        found = ctx.collect_events(ev, [Decided] * 2)
        return found and StopEvent(result={one.id: one.said for one in found})


def note(desk: str, outcome: str, ruling: str, act: str) -> list[str]:
    """Note something, with arguments that are named as those of the adapter."""
    program.RAN.append([desk, outcome, ruling, act])
    return program.RAN[-1]


class Names(Workflow):
    """Asks for the call of `note`."""

    @step
    async def propose(self, ev: StartEvent) -> InputRequiredEvent:
        wanted = {name: name.upper() for name in ("desk", "outcome", "ruling", "act")}
        return InputRequiredEvent(prefix="Note it?", tool="note", input=wanted)

    @step
    async def carry_out(self, ev: HumanResponseEvent) -> StopEvent:
        return StopEvent(result=await names["run_approved"](desk, ev, note))


class Kept:
    """A place for the state of a run."""

    def read(self) -> str:
        return FILE.read_text() if FILE and FILE.exists() else ""

    async def write(self, state: str) -> None:
        assert FILE is not None
        FILE.with_suffix(".new").write_text(state)
        FILE.with_suffix(".new").rename(FILE)


async def main() -> Any:
    others = {"names": Names, "waits": Waits, "state": Several}
    kind = next((kind for name, kind in others.items() if name in sys.argv[2:]), names["Refund"])
    names["workflow"] = kind(timeout=None)
    return await names["go_on" if FILE else "main"]()


desk = AsyncDesk()
names = program.run_page("llamaindex.md", {"refund": program.refund, "desk": desk, "thread_id": THREAD, "kept": Kept()})
program.tell(result=asyncio.run(main()))
