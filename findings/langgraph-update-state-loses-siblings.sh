#!/usr/bin/env bash
# LangGraph: after one of two parallel tasks has failed, `update_state` loses what the other one has stored, and it runs again.
# Guess: an update of the state keeps the stored writes of the tasks that ended. Fails if that has come true.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langgraph==1.2.24
"$folder/venv/bin/python" - <<'PYTHON'
import operator
from importlib.metadata import version
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

runs = []


class State(TypedDict):
    done: Annotated[list[str], operator.add]


def works(state):
    runs.append("works")
    return {"done": ["works"]}


def fails(state):
    raise RuntimeError("away")


graph = StateGraph(State)
graph.add_node("begin", lambda state: {"done": []})
graph.add_node("works", works)
graph.add_node("fails", fails)
graph.add_edge(START, "begin")
for name in ("works", "fails"):
    graph.add_edge("begin", name)
    graph.add_edge(name, END)
app = graph.compile(checkpointer=InMemorySaver())
config = {"configurable": {"thread_id": "1"}}
try:
    app.invoke({"done": []}, config, durability="sync")
except RuntimeError:
    pass
before = app.get_state(config).values["done"]
app.update_state(config, {"done": []}, as_node="begin")
after = app.get_state(config).values["done"]
try:
    app.invoke(None, config)
except RuntimeError:
    pass
print("langgraph", version("langgraph"), "stored before:", before, "after:", after, "runs:", runs)
raise SystemExit((before, after, runs) != (["works"], [], ["works", "works"]))
PYTHON
