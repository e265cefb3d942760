"""Every shape of LangGraph's interrupts: `shapes.py THREAD KIND`. It asks all, waits, and prints the results.

KIND is `values` (values that nodes of a graph pass to `interrupt`) or `calls` (of the middleware of LangChain, one by one).
"""

from __future__ import annotations

import sys
from typing import Any, TypedDict

import program
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from model import Model
from pausepoint import Desk
from pausepoint.langchain import resume_from_desk

THREAD, KIND = sys.argv[1:3]

INBOX = {"allow_accept": True, "allow_edit": True, "allow_respond": True, "allow_ignore": True}
SIZE = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}

#: A node's values for `interrupt`, twice in the last case: both have an id of their own.
VALUES: dict[str, list[Any]] = {
    "text": ["Which text?"],
    "fields": [{"title": "Which field?", "kind": "question", "options": ["S", "M"]}],
    "values": [{"question": "Which value?", "draft": {"words": 3}}],
    "form": [("Which size?", SIZE)],
    "inbox": [
        [
            {
                "action_request": {"action": "send", "args": {"to": "ada"}},
                "config": INBOX,
                "description": "Send **it**",
            },
            {"action_request": {"action": "drop", "args": {"table": "x"}}, "config": INBOX},
            {"action_request": {"action": "ask", "args": {"q": "Which inbox?"}}, "config": {"allow_respond": True}},
        ]
    ],
    "twice": ["First?", "Second?"],
}


class State(TypedDict, total=False):
    got: list[Any]


def graph_of(values: list[Any]) -> Any:
    def node(state: State) -> State:
        return {
            "got": [interrupt(v[0], response_schema=v[1]) if isinstance(v, tuple) else interrupt(v) for v in values]
        }

    graph = StateGraph(State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile(checkpointer=InMemorySaver())


def per_call() -> Any:
    calls = [("refund", program.REFUND), ("drop", program.DROP), ("ask_human", program.QUESTION)]
    wanted = [{"name": name, "args": args, "id": f"{THREAD}-{name}"} for name, args in calls]
    allowed = ("approve", "edit", "reject")
    return create_agent(
        Model(messages=iter([AIMessage("", tool_calls=wanted), AIMessage("done")])),
        [tool(program.refund), tool(program.drop), tool(program.ask_human)],
        checkpointer=InMemorySaver(),
        middleware=[
            HumanInTheLoopMiddleware(
                {
                    "refund": {"allowed_decisions": list(allowed)},
                    "drop": {"allowed_decisions": list(allowed)},
                    "ask_human": {"allowed_decisions": ["respond"]},
                },
                interrupt_mode="per_call",
            )
        ],
    )


graphs = {"calls": per_call()} if KIND == "calls" else {name: graph_of(values) for name, values in VALUES.items()}
found: dict[str, Any] = {}
with Desk() as desk:
    configs = {name: {"configurable": {"thread_id": f"{THREAD}-{name}"}} for name in graphs}
    for name, graph in graphs.items():
        graph.invoke({"messages": [("user", "go")]} if name == "calls" else {"got": []}, configs[name])
        assert resume_from_desk(graph, desk, configs[name]).status == "waiting"
    for name, graph in graphs.items():
        done = resume_from_desk(graph, desk, configs[name], wait=True)
        assert (done.status, resume_from_desk(graph, desk, configs[name]).status) == ("finished", "finished"), done
        found[name] = (
            done.output["got"]
            if name != "calls"
            else {one.name: [one.status, one.content] for one in done.output["messages"] if one.type == "tool"}
        )
program.tell(found=found)
