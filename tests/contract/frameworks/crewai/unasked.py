"""Crews whose calls could run unasked or from the cache, each with the model's view: `unasked.py THREAD`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import program
from crewai import Agent, Crew, Task
from crewai.mcp import MCPServerStdio
from crewai.tools import tool
from crewai.utilities.string_utils import sanitize_tool_name
from model import READ, Model
from pausepoint import Desk
from pausepoint.crewai import ask_before_tools

THREAD = sys.argv[1]
SERVER = MCPServerStdio(command=sys.executable, args=[str(Path(__file__).parent / "mcp_server.py")])


@tool("wipe")
def wipe(table: str) -> str:
    """Wipe a table."""
    return program.drop(table)


@tool("erase")
def erase(table: str) -> str:
    """Erase a table."""
    return program.drop(table)


def agent(*tools: Any, calls: list[Any], **more: Any) -> Agent:
    model = Model(model="scripted", wishes=list(calls))
    return Agent(role="clerk", goal="Help.", backstory="A clerk.", llm=model, tools=list(tools), **more)


def run(*agents: Agent) -> list[str]:
    tasks = [Task(description="Go on.", expected_output="What was done.", agent=each) for each in agents]
    Crew(agents=list(agents), tasks=tasks[:1]).kickoff()
    return list(READ)


desk = Desk()
refund, drop = tool(program.refund), tool(program.drop)
WIPE, ERASE, REFUND = ("wipe", program.DROP), ("erase", program.DROP), ("refund", program.REFUND)

stop = ask_before_tools(desk, "drop", thread_id=THREAD)
first, second = run(agent(drop, wipe, calls=[WIPE])), run(agent(erase, calls=[ERASE]))
stop()

served = agent(calls=[], mcps=[SERVER])
(name,) = (each.name for each in served.get_mcp_tools(served.mcps))
stop = ask_before_tools(desk, name, thread_id=THREAD)
known = run(agent(erase, calls=[ERASE]), agent(calls=[], mcps=[SERVER]))
stop()
stop = ask_before_tools(desk, "refnd", thread_id=THREAD)
unknown = run(agent(erase, calls=[ERASE]), agent(calls=[], mcps=[SERVER]))
stop()

ask_before_tools(desk, "refund", thread_id=THREAD)
twice = run(agent(refund, calls=[REFUND, REFUND], cache=True))
program.tell(first=first, second=second, known=known, unknown=unknown, served=sanitize_tool_name(name), twice=twice)
