#!/usr/bin/env bash
# LangGraph: the model calls `pay` for A and for B in one message, and a plain `ToolNode` runs both. The tool looks something up, which takes A
# longer, asks a person with `interrupt`, and pays on a yes.
# Guess: people are asked about A first or about both, and the answer, sent by the id of the question, reaches the call that asked. Seen: they are
# asked about A, and the yes to A pays B. The calls of a node are one task, which counts its questions as they come: on the first run B asks
# first, but the error of the first call in the message is shown; on the second run B asks first again and takes the answer. Calls that `Send`
# makes tasks of their own get their own answers.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check langgraph==1.2.24
cat >look.py <<'PYTHON'
import time
from importlib.metadata import version

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send, interrupt

LOOK_UP = {"A": 0.5, "B": 0.0}
paid = []


@tool
def pay(order: str) -> str:
    """Pay for an order."""
    time.sleep(LOOK_UP[order])
    answer = interrupt(f"Pay {order}?")
    if answer == "yes":
        paid.append(order)
    return str(answer)


def agent(own_tasks):
    calls = [{"name": "pay", "args": {"order": order}, "id": order} for order in "AB"]
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [AIMessage("", tool_calls=calls)]})
    graph.add_node("tools", ToolNode([pay]))
    graph.add_edge(START, "model")
    if own_tasks:
        sends = lambda state: [Send("tools", [{**call, "type": "tool_call"}]) for call in calls]
        graph.add_conditional_edges("model", sends, ["tools"])
    else:
        graph.add_edge("model", "tools")
    return graph.compile(checkpointer=InMemorySaver())


def run(own_tasks):
    paid.clear()
    app, config = agent(own_tasks), {"configurable": {"thread_id": "1"}}
    asked = {question.value: question.id for question in app.invoke({"messages": []}, config)["__interrupt__"]}
    after = app.invoke(Command(resume={asked["Pay A?"]: "yes"}), config)
    waiting = [question.value for question in after["__interrupt__"]]
    print(f"  asked {sorted(asked)}, yes to A, paid {paid}, waiting {waiting}")
    return sorted(asked), list(paid), waiting


print("langgraph", version("langgraph"))
print("one task:")
together = run(own_tasks=False)
print("a task for each call:")
apart = run(own_tasks=True)
assert together == (["Pay A?"], ["B"], ["Pay A?"]), together
assert apart == (["Pay A?", "Pay B?"], ["A"], ["Pay B?"]), apart
PYTHON
venv/bin/python look.py
