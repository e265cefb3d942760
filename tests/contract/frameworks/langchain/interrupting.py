"""An approved tool that pauses the graph itself, with a fake model: `interrupting.py THREAD sync|async`."""

from __future__ import annotations

import asyncio
import sys

import program
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from model import Model
from pausepoint import AsyncDesk, Desk
from pausepoint.langchain import DeskApproval

THREAD, LOOP = sys.argv[1:]
CONFIG = {"configurable": {"thread_id": THREAD}}


@tool
def refund(order: str, amount: int) -> str:
    """Refund an order."""
    return f"refunded {amount} to {interrupt('Which card?')}"


wanted = {"name": "refund", "args": program.REFUND, "id": f"{THREAD}-refund"}
agent = create_agent(
    Model(messages=iter([AIMessage("", tool_calls=[wanted]), AIMessage("done")])),
    [refund],
    checkpointer=InMemorySaver(),
    middleware=[DeskApproval(AsyncDesk() if LOOP == "async" else Desk(), "refund")],
)


async def both() -> list[object]:
    return [await agent.ainvoke(given, CONFIG) for given in GIVEN]


GIVEN = [{"messages": [("user", "refund 4711")]}, Command(resume="visa")]
paused, found = asyncio.run(both()) if LOOP == "async" else [agent.invoke(given, CONFIG) for given in GIVEN]
(waiting,) = paused["__interrupt__"]
program.tell(asked=waiting.value, last=found["messages"][-1].content)
