"""An agent whose tools return files, for tests. List it as PATH in `settings.HITL_AGENTS`."""

from __future__ import annotations

import threading
from typing import Any

from pydantic import BaseModel

from chats.agent.agent import Agent
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import File, tool
from tests.support.chats.files import PDF, PNG, SVG

PATH, MANAGER = f"{__name__}.draughtsman", f"{__name__}.manager"
release = threading.Event()


class Report(BaseModel):
    rows: int
    chart: File


@tool
def draw() -> File:
    """A picture."""
    return File(PNG, "plan.png")


@tool
async def report() -> dict[str, Any]:
    """JSON with a model that has a file, and a list of files."""
    return {"report": Report(rows=3, chart=File(PNG, "chart.png")), "more": [File(PDF, "Report.pdf"), File(PNG)]}


@tool
def vector() -> list[Any]:
    """A file of a type that is not kept."""
    return [File(SVG, "plan.svg"), {"kept": File(PNG)}]


@tool(needs_approval=True)
def print_plan() -> File:
    """A picture that a person approves."""
    return File(PNG, "plan.png")


@tool(timeout=0.5)
def draw_late() -> File:
    """A picture that takes too long."""
    release.wait(60)
    return File(PNG, "late.png")


@tool
def echo(value: dict[str, Any]) -> dict[str, Any]:
    """Return the input."""
    return value


def one(name: str, **value: Any) -> list[list[Say | Use]]:
    return [[Use(name, value)], [Say("Here it is.", pause=0)]]


NAMES = ("draw_late", "draw", "report", "vector", "print_plan")
draughtsman = Agent(
    name="draughtsman",
    tools=(draw, report, vector, print_plan, draw_late, echo),
    script=tuple(Conversation(name, one(name)) for name in NAMES),
)
manager = Agent(
    name="manager",
    tools=(draughtsman.as_tool(needs_approval=False),),
    script=(Conversation("", one("draughtsman", task="draw")),),
)
