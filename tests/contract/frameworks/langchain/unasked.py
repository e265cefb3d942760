"""Agents whose calls would run unasked, each with its run's output: `unasked.py`."""

from __future__ import annotations

import sys
from typing import Any

import program
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from model import Model
from pausepoint import Desk
from pausepoint.gate import NotGated
from pausepoint.langchain import DeskApproval

refund, drop = tool(program.refund), tool(program.drop)
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
SCHEMA = {"type": "function", "function": {"name": "ask_human", "parameters": {"type": "object"}}}


def run(middleware: DeskApproval, *tools: Any, calls: str = "") -> str:
    wanted = [{"name": calls, "args": program.DROP, "id": f"{sys.argv[1]}-{calls}"}] if calls else []
    model = Model(
        messages=iter([AIMessage("", tool_calls=wanted), AIMessage("done")] if calls else [AIMessage("done")])
    )
    try:
        found = create_agent(model, tools, middleware=[middleware]).invoke({"messages": [("user", "go on")]})
    except NotGated as error:
        return str(error)
    return str(found["messages"][-1].content)


desk = Desk()
shared = DeskApproval(desk, "refund")
program.tell(
    named=run(DeskApproval(desk, "web_search"), SEARCH),
    unnamed=run(DeskApproval(desk), refund, {"google_search": {}}),
    question=run(DeskApproval(desk, "refund", questions=["ask_human"]), refund, SCHEMA, SEARCH),
    first=run(shared, refund, drop, calls="drop"),
    part=run(shared, drop, calls="drop"),
    second=run(shared, tool("wipe")(program.drop), calls="wipe"),
)
