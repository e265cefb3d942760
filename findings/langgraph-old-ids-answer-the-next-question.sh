#!/usr/bin/env bash
# LangGraph (Python and JavaScript): a node asks two questions in turn with `interrupt`, and answers are sent by id:
# `Command(resume={id: value})`. Each question has its own id. The yes to the first one is sent twice: a webhook comes again, a worker repeats
# the resume after a lost response.
# Guess: the second send changes nothing, since no question with that id waits. Seen: it answers the second question, which nobody has read,
# and the run pays. The value is found by the place of the task, not by the id of the question, so the ids of all questions of a task stay valid for
# the one that is open. The same goes for an `entrypoint` that asks by itself. Where each question has its own node, the second send changes
# nothing. To be safe, compare the id with those of `get_state` before each resume, under a lock.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check langgraph==1.2.24
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund node@22.23.3 @langchain/langgraph@1.7.3 @langchain/core@1.4.0 >/dev/null
cat >look.py <<'PYTHON'
import operator
from importlib.metadata import version
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt


class State(TypedDict):
    answers: Annotated[list, operator.add]


def ask(*questions):
    return lambda state: {"answers": [interrupt(question) for question in questions]}


def one_node():
    graph = StateGraph(State).add_node("ask", ask("Plan?", "Pay 5,000?"))
    return graph.add_edge(START, "ask").compile(checkpointer=InMemorySaver())


def two_nodes():
    graph = StateGraph(State).add_node("plan", ask("Plan?")).add_node("pay", ask("Pay 5,000?"))
    return graph.add_edge(START, "plan").add_edge("plan", "pay").compile(checkpointer=InMemorySaver())


def one_entrypoint():
    return entrypoint(checkpointer=InMemorySaver())(ask("Plan?", "Pay 5,000?"))


def outcome(graph):
    """Give the answer to the first question twice; return the question that waits then, or all answers."""
    config = {"configurable": {"thread_id": "1"}}
    [first] = graph.invoke({"answers": []}, config)["__interrupt__"]
    yes = Command(resume={first.id: "yes to the plan"})
    [second] = graph.invoke(yes, config)["__interrupt__"]
    assert (first.value, second.value) == ("Plan?", "Pay 5,000?") and first.id != second.id
    result = graph.invoke(yes, config)
    waiting = [each.value for each in result.get("__interrupt__", [])]
    return waiting or result["answers"]


seen = {build.__name__: outcome(build()) for build in (one_node, two_nodes, one_entrypoint)}
print("langgraph", version("langgraph"), "expected ['Pay 5,000?'] to wait, seen", seen)
both = ["yes to the plan", "yes to the plan"]
assert seen == {"one_node": both, "two_nodes": ["Pay 5,000?"], "one_entrypoint": both}
PYTHON
venv/bin/python look.py
cat >look.mjs <<'JAVASCRIPT'
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Annotation, Command, entrypoint, interrupt, MemorySaver, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({ answers: Annotation({ reducer: (left, right) => left.concat(right), default: () => [] }) });
const ask = (...questions) => async () => ({ answers: questions.map((question) => interrupt(question)) });
const checkpointer = () => new MemorySaver();

const graphs = {
  oneNode: new StateGraph(State)
    .addNode("ask", ask("Plan?", "Pay 5,000?"))
    .addEdge(START, "ask")
    .compile({ checkpointer: checkpointer() }),
  twoNodes: new StateGraph(State)
    .addNode("plan", ask("Plan?"))
    .addNode("pay", ask("Pay 5,000?"))
    .addEdge(START, "plan")
    .addEdge("plan", "pay")
    .compile({ checkpointer: checkpointer() }),
  oneEntrypoint: entrypoint({ name: "ask", checkpointer: checkpointer() }, ask("Plan?", "Pay 5,000?")),
};

// Give the answer to the first question twice; return the question that waits then, or all answers.
async function outcome(graph) {
  const config = { configurable: { thread_id: "1" } };
  const [first] = (await graph.invoke({}, config)).__interrupt__;
  const yes = () => new Command({ resume: { [first.id]: "yes to the plan" } });
  const [second] = (await graph.invoke(yes(), config)).__interrupt__;
  assert.deepEqual([first.value, second.value], ["Plan?", "Pay 5,000?"]);
  assert.notEqual(first.id, second.id);
  const result = await graph.invoke(yes(), config);
  return result.__interrupt__?.map((each) => each.value) ?? result.answers;
}

const seen = {};
for (const [name, graph] of Object.entries(graphs)) {
  seen[name] = await outcome(graph);
}
const { version } = JSON.parse(readFileSync("node_modules/@langchain/langgraph/package.json", "utf8"));
console.log("@langchain/langgraph", version, 'expected "Pay 5,000?" to wait, seen', JSON.stringify(seen));
const both = ["yes to the plan", "yes to the plan"];
assert.deepEqual(seen, { oneNode: both, twoNodes: ["Pay 5,000?"], oneEntrypoint: both });
JAVASCRIPT
node_modules/.bin/node look.mjs
