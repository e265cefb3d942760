"""Stored threads that come into trouble: `troubles.py THREAD FOLDER KIND`. Each start calls `resume_from_desk` once.

Calls that run leave a line in FOLDER/ran. LIMIT is the limit in the condition of the middleware.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any, TypedDict

import program
import resumers
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from model import Model
from pausepoint import AsyncDesk, Desk
from pausepoint.langchain import aresume_from_desk, resume_from_desk

THREAD, FOLDER, KIND = sys.argv[1:4]
CONFIG = {"configurable": {"thread_id": THREAD}}
FILE = str(resumers.FOLDER / "threads.sqlite3")
LIMIT = int(os.environ.get("LIMIT", "100"))


@tool
def refund(order: str, amount: int) -> str:
    """Refund an order."""
    resumers.ran(f"refund {order} {amount}")
    if KIND == "raises":
        raise RuntimeError("The bank says no.")
    return f"refunded {amount}"


@tool
def drop(table: str) -> str:
    """Drop a table."""
    resumers.ran(f"drop {table}")
    return "dropped"


@tool
def pay(order: str) -> str:
    """Pay for an order, as soon as a person approves that."""
    told = interrupt({"title": f"Pay {order}?", "tool_name": "pay", "input": {"order": order}})
    if told["status"] == "approved":
        resumers.ran(f"pay {order}")
    return str(told["status"])


def call(name: str, args: dict[str, Any], call_id: str) -> dict[str, Any]:
    return {"name": name, "args": args, "id": f"{THREAD}-{call_id}"}


def model(*wanted: Any) -> Any:
    begins = [AIMessage("", tool_calls=list(wanted))] if "BEGIN" in os.environ else []
    return Model(messages=iter([*begins, AIMessage("done"), AIMessage("done")]))


def asked_agent(saver: Any) -> Any:
    """An agent whose middleware asks about large refunds and each drop."""
    wanted = [call("refund", program.REFUND, "refund"), call("drop", program.DROP, "drop")]
    when = {"when": lambda request: request.tool_call["args"]["amount"] > LIMIT}
    first = {"refund": {"allowed_decisions": ["approve", "edit", "reject"], **(when if KIND == "when" else {})}}
    middleware = HumanInTheLoopMiddleware(first | {"drop": True})
    return create_agent(model(*wanted), [refund, drop], checkpointer=saver, middleware=[middleware])


def within(saver: Any) -> Any:
    """The same as a part of another graph."""
    graph = StateGraph(MessagesState)
    graph.add_node("clerk", asked_agent(None))
    graph.add_edge(START, "clerk")
    graph.add_edge("clerk", END)
    return graph.compile(checkpointer=saver)


class Count(TypedDict, total=False):
    count: int


def counting(saver: Any) -> Any:
    graph = StateGraph(Count)
    graph.add_node("count", lambda _state: {"count": int(interrupt("How many?"))})
    graph.add_edge(START, "count")
    graph.add_edge("count", END)
    return graph.compile(checkpointer=saver)


def paying(saver: Any) -> Any:
    """A node asks about one payment after the other."""
    graph = StateGraph(Count)
    graph.add_node("pay", lambda _state: {"count": len([pay.func(order) for order in "AB"])})
    graph.add_edge(START, "pay")
    graph.add_edge("pay", END)
    return graph.compile(checkpointer=saver)


def tools_node(tools: ToolNode) -> Any:
    """The node as it is, or as one writes it who wants more of it."""
    if KIND == "together retried":
        return tools.with_retry()
    if KIND == "together in turn":
        return RunnableLambda(lambda state: state) | tools
    if KIND == "together called":
        return lambda state: tools.invoke(state)
    if KIND == "together in a class":
        return Node(tools).run
    return tools


class Node:
    def __init__(self, tools: ToolNode) -> None:
        self.tools = tools

    def run(self, state: MessagesState) -> Any:
        return self.tools.invoke(state)


def paying_together(saver: Any) -> Any:
    """All calls of a message are one task, whose tools ask by themselves, in a part of another graph if the kind says so."""
    wanted = [call("pay", {"order": order}, order) for order in "AB"]
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda _state: {"messages": [AIMessage("", tool_calls=wanted)]})
    graph.add_node("tools", tools_node(ToolNode([pay, drop])))
    graph.add_edge(START, "model")
    graph.add_edge("model", "tools")
    graph.add_edge("tools", END)
    if KIND != "together within":
        return graph.compile(checkpointer=saver)
    outer = StateGraph(MessagesState)
    outer.add_node("clerk", graph.compile())
    outer.add_edge(START, "clerk")
    outer.add_edge("clerk", END)
    return outer.compile(checkpointer=saver)


MAKE = {"raises": asked_agent, "when": asked_agent, "within": within, "count": counting, "pay": paying}
TOGETHER = ("", " within", " retried", " in turn", " called", " in a class")
MAKE |= {f"together{how}": paying_together for how in TOGETHER}


def told(found: Any, values: dict[str, Any]) -> dict[str, Any]:
    messages = {
        each.tool_call_id.removeprefix(f"{THREAD}-"): [each.status, each.content]
        for each in values.get("messages", [])
        if each.type == "tool"
    }
    return {"status": found.status, "messages": messages, "count": values.get("count")}


def run() -> dict[str, Any]:
    with SqliteSaver.from_conn_string(FILE) as saver, Desk() as desk:
        graph = MAKE[KIND](saver)
        if "BEGIN" in os.environ:
            graph.invoke({"messages": [("user", "go")]} if KIND not in {"count", "pay"} else {"count": 0}, CONFIG)
        try:
            found = resume_from_desk(graph, desk, CONFIG)
        except Exception as error:
            return {"status": f"{type(error).__name__}: {error}"}
        return told(found, graph.get_state(CONFIG).values)


async def run_on_a_loop() -> dict[str, Any]:
    async with AsyncSqliteSaver.from_conn_string(FILE) as saver, AsyncDesk() as desk:
        graph = MAKE[KIND](saver)
        if "BEGIN" in os.environ:
            await graph.ainvoke(
                {"messages": [("user", "go")]} if KIND not in {"count", "pay"} else {"count": 0}, CONFIG
            )
        try:
            found = await aresume_from_desk(graph, desk, CONFIG)
        except Exception as error:
            return {"status": f"{type(error).__name__}: {error}"}
        return told(found, (await graph.aget_state(CONFIG)).values)


program.tell(found=asyncio.run(run_on_a_loop()) if "LOOP" in os.environ else run())
