"""A deep agent with a fake model, whose sub-agent refunds: `agent.py THREAD FOLDER MODE`. Calls leave lines in FOLDER/ran.

MODE is `without` (only the main agent has the middleware), `with` (each agent has one), or `hidden` (the sub-agent is a program
of its own, invisible to the middleware of the main agent).
"""

from __future__ import annotations

import sys
from typing import Any

import program
import resumers
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from pausepoint import Desk
from pausepoint.langchain import DeskApproval

THREAD, _, MODE = sys.argv[1:4]
CONFIG = {"configurable": {"thread_id": THREAD}}


class Model(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> Model:
        return self


def wants(name: str, args: dict[str, Any], call_id: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"{THREAD}-{call_id}"}])


def ask_first(desk: Desk) -> list[DeskApproval]:
    return [DeskApproval(desk, "refund")]


refund = tool(resumers.refund)
desk = Desk()
task = {"description": "Refund order 4711.", "subagent_type": "general-purpose"}
refunds = wants("refund", program.REFUND, "refund")
clerk: dict[str, Any] = {"name": "general-purpose", "description": "Does anything.", "system_prompt": "Help."}
if MODE == "with":
    clerk |= {"tools": [refund], "middleware": ask_first(desk)}
elif MODE == "hidden":
    alone = create_agent(Model(messages=iter([refunds, AIMessage("refunded")])), [refund])
    clerk = {"name": "general-purpose", "description": "Does anything.", "runnable": RunnableLambda(alone.invoke)}
script = [
    wants("task", task, "task"),
    *([] if MODE == "hidden" else [refunds, AIMessage("refunded")]),
    AIMessage("done"),
]
try:
    agent = create_deep_agent(
        model=Model(messages=iter(script)),
        tools=[refund],
        middleware=ask_first(desk),
        subagents=[] if MODE == "without" else [clerk],  # type: ignore[list-item]
    )
    found = agent.invoke({"messages": [("user", "Refund 4711.")]}, CONFIG)  # type: ignore[call-overload]
    last = found["messages"][-1].content
except Exception as error:
    last = f"{type(error).__name__}: {error}"
program.tell(last=last)
