"""A workflow with another one in a step, which asks: `inner.py THREAD with|without`, whether that one runs with the desk, too."""

from __future__ import annotations

import asyncio
import sys

import program
from pausepoint import AsyncDesk
from pausepoint.llamaindex import run_approved, run_with_desk
from workflows import Workflow, step
from workflows.events import HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent

THREAD, MODE = sys.argv[1:3]
desk = AsyncDesk()


class Inner(Workflow):
    @step
    async def propose(self, ev: StartEvent) -> InputRequiredEvent:
        return InputRequiredEvent(prefix="Refund 250?", tool="refund", input=program.REFUND)

    @step
    async def pay(self, ev: HumanResponseEvent) -> StopEvent:
        return StopEvent(result=await run_approved(desk, ev, program.refund))


class Outer(Workflow):
    @step
    async def ask_the_clerk(self, ev: StartEvent) -> StopEvent:
        if MODE == "with":
            return StopEvent(result=await run_with_desk(Inner(timeout=None), desk, thread_id=f"{THREAD}-clerk"))
        return StopEvent(result=await Inner(timeout=0.5).run())


try:
    last = asyncio.run(run_with_desk(Outer(timeout=None), desk, thread_id=THREAD))
except Exception as error:
    last = type(error).__name__
program.tell(last=last)
