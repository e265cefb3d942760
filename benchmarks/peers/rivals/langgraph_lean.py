"""The least that LangGraph needs to ask a person: a node that interrupts the graph, a node that acts, 1 kB of tool input.

python langgraph_lean.py postgresql://... CLIENTS
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict
from uuid import uuid4

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from langgraph_clients import run

INPUT = {"amount": 5, "note": "x" * 1000}


class State(TypedDict, total=False):
    input: dict[str, Any]
    decision: str
    output: str


def ask(state: State) -> State:
    return {"decision": interrupt({"tool": "book", "input": state["input"]})}


def act(state: State) -> State:
    approved = state["decision"] == "approve"
    return {
        "output": f"booked {state['input']['amount']}" if approved else "not approved"
    }


graph = StateGraph(State)
graph.add_node("ask", ask)
graph.add_node("act", act)
graph.add_edge(START, "ask")
graph.add_edge("ask", "act")
graph.add_edge("act", END)


def client(saver: PostgresSaver) -> Callable[[], None]:
    agent = graph.compile(checkpointer=saver)

    def cycle() -> None:
        thread = {"configurable": {"thread_id": uuid4().hex}}
        paused = agent.invoke({"input": INPUT}, thread)
        assert paused["__interrupt__"], paused
        ended = agent.invoke(Command(resume="approve"), thread)
        assert ended["output"] == "booked 5", ended

    return cycle


if __name__ == "__main__":
    run(client)
