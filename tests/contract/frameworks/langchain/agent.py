"""A LangChain agent with a fake model, perhaps without a tool that its middleware names: `agent.py THREAD [async] [less]`."""

from __future__ import annotations

import asyncio
import sys

import program
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from model import Model
from pausepoint import AsyncDesk, Desk

THREAD = sys.argv[1]
ON_A_LOOP = "async" in sys.argv[2:]


def message(calls: list[program.Call]) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": call.name, "args": call.input, "id": call.id or None} for call in calls])


tools = [tool(each) for each in (program.refund, program.drop, program.ask_human, *program.FREE)]
names = program.run_page(
    "langchain.md",
    {
        "model": Model(messages=iter([*map(message, program.messages(THREAD)), AIMessage("done")])),
        "tools": tools[1:] if "less" in sys.argv else tools,
        "desk": AsyncDesk() if ON_A_LOOP else Desk(),
        "checkpointer": InMemorySaver(),
    },
)
said = {"messages": [("user", "refund 4711")]}
config = {"configurable": {"thread_id": THREAD}}
agent = names["agent"]
found = asyncio.run(agent.ainvoke(said, config)) if ON_A_LOOP else agent.invoke(said, config)
results = [message for message in found["messages"] if message.type == "tool"]
program.tell(
    [message.content for message in results],
    messages={message.name: [message.status, message.content] for message in results},
    last=found["messages"][-1].content,
)
