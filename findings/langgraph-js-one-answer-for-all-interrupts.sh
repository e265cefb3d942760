#!/usr/bin/env bash
# LangGraph JavaScript: three payments run side by side and each asks with `interrupt` (nodes of one step, or `Send`). A program answers with
# `new Command({ resume: true })`, without an id, as the guides show for one question.
# Guess: it is refused because several questions wait, as in Python ("you must specify the interrupt id"), or it answers one. Seen: it answers all
# of them, and all three are paid. This is so also where they are asked inside subgraphs, so a program that shows people the first interrupt of the
# result and resumes with their answer pays what nobody has read. Only a map from id to value answers one.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check langgraph==1.2.24
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund node@22.23.3 @langchain/langgraph@1.7.3 @langchain/core@1.4.0 >/dev/null
cat >look.mjs <<'JAVASCRIPT'
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Annotation, Command, interrupt, MemorySaver, Send, START, StateGraph } from "@langchain/langgraph";

const NAMES = ["A", "B", "C"];
const paid = [];

function pay(name) {
  if (interrupt(`Pay ${name}?`)) {
    paid.push(name);
  }
  return {};
}

const State = Annotation.Root({ name: Annotation() });

function nodes(checkpointer) {
  const graph = new StateGraph(State);
  for (const name of NAMES) {
    graph.addNode(name, async () => pay(name)).addEdge(START, name);
  }
  return graph.compile({ checkpointer });
}

function sent(checkpointer) {
  return new StateGraph(State)
    .addNode("pay", async ({ name }) => pay(name))
    .addConditionalEdges(START, () => NAMES.map((name) => new Send("pay", { name })))
    .compile({ checkpointer });
}

function subgraphs(checkpointer) {
  const graph = new StateGraph(State);
  for (const name of NAMES) {
    const inner = new StateGraph(State).addNode("pay", async () => pay(name)).addEdge(START, "pay").compile();
    graph.addNode(name, inner).addEdge(START, name);
  }
  return graph.compile({ checkpointer });
}

// Start a run, answer it, and return how many questions waited and what is paid.
async function outcome(build, answer) {
  paid.length = 0;
  const graph = build(new MemorySaver());
  const config = { configurable: { thread_id: "1" } };
  const { __interrupt__: asked } = await graph.invoke({}, config);
  await graph.invoke(new Command({ resume: answer(asked[0].id) }), config);
  return `${asked.length} asked, paid ${paid.sort().join("")}`;
}

const seen = {};
for (const build of [nodes, sent, subgraphs]) {
  seen[build.name] = await outcome(build, () => true);
}
seen["by id"] = await outcome(nodes, (id) => ({ [id]: true }));
const { version } = JSON.parse(readFileSync("node_modules/@langchain/langgraph/package.json", "utf8"));
console.log("@langchain/langgraph", version, "expected an error, or one payment for one yes; seen", JSON.stringify(seen));
const all = "3 asked, paid ABC";
assert.deepEqual(seen, { nodes: all, sent: all, subgraphs: all, "by id": "3 asked, paid A" });
JAVASCRIPT
node_modules/.bin/node look.mjs
cat >look.py <<'PYTHON'
from importlib.metadata import version
from typing import TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

graph = StateGraph(TypedDict("State", {"name": str}))
for name in "ABC":
    graph.add_node(name, lambda state, name=name: interrupt(f"Pay {name}?") and {}).add_edge(START, name)
compiled = graph.compile(checkpointer=InMemorySaver())
config = {"configurable": {"thread_id": "1"}}
compiled.invoke({"name": ""}, config)
try:
    compiled.invoke(Command(resume=True), config)
except RuntimeError as error:
    print("langgraph", version("langgraph"), "in Python, for comparison:", str(error).split(".")[0])
else:
    raise AssertionError("Python has answered them, too")
PYTHON
venv/bin/python look.py
