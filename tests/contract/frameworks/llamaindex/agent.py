"""LlamaIndex workflows: `agent.py THREAD [names | waits | state FILE]`, the page's own one and others that ask several things.

With a script, the workflow plays its messages, and asks about each call of a message at once.
"""

from __future__ import annotations

import asyncio
import os
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


SCRIPT = program.messages(THREAD)
TEXTS: list[str] = []


class Message(Event):
    """A message of the script, by its place."""


class Told(Event):
    """What a call has come to, as text."""


class Scripted(Workflow):
    """Plays the messages of the script. A call of `look` is free."""

    @step
    async def begin(self, ev: StartEvent) -> Message:
        return Message(place=0)

    @step
    async def ask(self, ctx: Context, ev: Message) -> InputRequiredEvent | Told | StopEvent | None:
        if ev.place == len(SCRIPT):
            return StopEvent(result="done")
        for call in SCRIPT[ev.place]:
            if call.name == "look":
                ctx.send_event(Told(place=ev.place, text=program.look(**call.input)))
                continue
            given = {"id": call.id} if call.id else {}
            ctx.write_event_to_stream(
                InputRequiredEvent(prefix=f"May I {call.name}?", tool=call.name, input=call.input, **given)
            )
        return None

    @step(num_workers=4)
    async def carry_out(self, ev: HumanResponseEvent) -> Told:
        # Calls without an id are refunds of the first message.
        call_id = ev.get("id", "")
        (place, call) = next(
            ((place, call) for place, calls in enumerate(SCRIPT) for call in calls if call.id == call_id)
        )
        if not ev.approved:
            late = "No one decided in time. " if ev.response == "expired" else ""
            return Told(place=place, text=f"{late}{ev.comment}{' the policy stops the run now' if ev.halted else ''}")
        changed = "" if ev.input == call.input else "A person changed the input of this call to what it is now. "
        try:
            output = await names["run_approved"](desk, ev, getattr(program, call.name))
        except Exception as error:
            output = f"{type(error).__name__}: {error}"
        return Told(place=place, text=f"{changed}{ev.comment} {output}")

    @step
    async def collect(self, ctx: Context, ev: Told) -> Message | None:
        told = ctx.collect_events(ev, [Told] * len(SCRIPT[ev.place]))
        if told is None:
            return None
        TEXTS.extend(each.text for each in told)
        return Message(place=ev.place + 1)


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
    if "SCRIPT" in os.environ:
        kind = Scripted
    names["workflow"] = kind(timeout=None)
    return await names["go_on" if FILE else "main"]()


desk = AsyncDesk()
names = program.run_page("llamaindex.md", {"refund": program.refund, "desk": desk, "thread_id": THREAD, "kept": Kept()})
result = asyncio.run(main())
program.tell(TEXTS, result=result)
