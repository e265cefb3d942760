"""The cycle in LangGraph: a model that calls tools in turn, and a tool that interrupts the graph for a person.

python langgraph_agent.py postgresql://... CLIENTS
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from langgraph_clients import run


def look_up(amount: int) -> str:
    return f"{amount} is free"


def book(amount: int) -> str:
    decision = interrupt({"tool": "book", "input": {"amount": amount}})
    return f"booked {amount}" if decision == "approve" else "not approved"


TOOLS = {"look_up": look_up, "book": book}
#: What the model says and calls, in turn.
SCRIPT = (("A moment.", "look_up"), ("It is free.", "book"), ("Done.", ""))


def model(state: MessagesState) -> dict[str, list[AIMessage]]:
    text, name = SCRIPT[
        sum(isinstance(message, AIMessage) for message in state["messages"])
    ]
    calls = [{"name": name, "args": {"amount": 5}, "id": uuid4().hex}] if name else []
    return {"messages": [AIMessage(text, tool_calls=calls)]}


def tools(state: MessagesState) -> dict[str, list[ToolMessage]]:
    (call,) = state["messages"][-1].tool_calls
    return {
        "messages": [
            ToolMessage(TOOLS[call["name"]](**call["args"]), tool_call_id=call["id"])
        ]
    }


def after_model(state: MessagesState) -> str:
    return "tools" if state["messages"][-1].tool_calls else END


graph = StateGraph(MessagesState)
graph.add_node("model", model)
graph.add_node("tools", tools)
graph.add_edge(START, "model")
graph.add_conditional_edges("model", after_model, ["tools", END])
graph.add_edge("tools", "model")


def client(saver: PostgresSaver) -> Callable[[], None]:
    agent = graph.compile(checkpointer=saver)

    def cycle() -> None:
        thread = {"configurable": {"thread_id": uuid4().hex}}
        paused = agent.invoke(
            {"messages": [HumanMessage("look up and book it")]}, thread
        )
        assert paused["__interrupt__"], paused
        ended = agent.invoke(Command(resume="approve"), thread)
        assert [message.content for message in ended["messages"][-2:]] == [
            "booked 5",
            "Done.",
        ], ended

    return cycle


if __name__ == "__main__":
    run(client)
