"""A LangChain agent with a fake model, perhaps without a tool that its middleware names: `agent.py THREAD [async] [less]`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import program
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from model import Model
from pausepoint import AsyncDesk, Desk

THREAD = sys.argv[1]
ON_A_LOOP = "async" in sys.argv[2:]


def wanted(name: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "args": args, "id": f"{THREAD}-{name}"}


tools = [tool(program.refund), tool(program.drop), tool(program.ask_human)]
names = program.run_page(
    "langchain.md",
    {
        "model": Model(
            messages=iter(
                [
                    AIMessage(
                        "",
                        tool_calls=[
                            wanted("refund", program.REFUND),
                            wanted("drop", program.DROP),
                            wanted("ask_human", program.QUESTION),
                        ],
                    ),
                    AIMessage("done"),
                ]
            )
        ),
        "tools": tools[1:] if "less" in sys.argv else tools,
        "desk": AsyncDesk() if ON_A_LOOP else Desk(),
        "checkpointer": InMemorySaver(),
    },
)
said = {"messages": [("user", "refund 4711")]}
config = {"configurable": {"thread_id": THREAD}}
agent = names["agent"]
found = asyncio.run(agent.ainvoke(said, config)) if ON_A_LOOP else agent.invoke(said, config)
program.tell(
    messages={
        message.name: [message.status, message.content] for message in found["messages"] if message.type == "tool"
    },
    last=found["messages"][-1].content,
)
