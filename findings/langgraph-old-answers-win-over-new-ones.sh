#!/usr/bin/env bash
# LangGraph (Python and JavaScript): a node asks "Pay?" with `interrupt`. People have said yes, and it has paid. Somebody goes back to the
# checkpoint at which it asked, to see what a no would have done or to run it again with another answer: `invoke(Command(resume="no"), config)`
# with the `checkpoint_id` of that question.
# Guess: the run branches off from there with the new answer, as `invoke(None, config)` branches off and asks again, or it is an error because
# nothing waits there. Seen: the new answer is ignored, and the node runs with the stored one: after a no it pays a second time, each time that
# it is sent, also by the id of the question. The other way around, a late yes to what was rejected is rejected once more. Where a subgraph asks,
# neither answer counts: nothing runs, and the run looks finished. What works is `invoke(None, config)`, which asks again, then the answer
# without the checkpoint. So never keep the config of a question to answer it later: a second answer there repeats the first.
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
import json
from importlib.metadata import version
from typing import TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

State = TypedDict("State", {"amount": int})
used = []


def pay(state):
    used.append(interrupt("Pay?"))
    return {}


def node():
    return StateGraph(State).add_node("pay", pay).add_edge(START, "pay").compile(checkpointer=InMemorySaver())


def function():
    return entrypoint(checkpointer=InMemorySaver())(pay)


def subgraph():
    inner = StateGraph(State).add_node("pay", pay).add_edge(START, "pay").compile()
    return StateGraph(State).add_node("inner", inner).add_edge(START, "inner").compile(checkpointer=InMemorySaver())


def back(graph, thread, question, answer):
    graph.invoke(Command(resume=answer), question.config)


def back_by_id(graph, thread, question, answer):
    graph.invoke(Command(resume={question.interrupts[0].id: answer}), question.config)


def back_twice(graph, thread, question, answer):
    back(graph, thread, question, answer)
    back(graph, thread, question, answer)


def asked_again(graph, thread, question, answer):
    graph.invoke(None, question.config)
    graph.invoke(Command(resume=answer), thread)


def outcome(build, again, first, second):
    """Answer a question, go back to it and answer it again in another way; return the answers that the payment was made with."""
    used.clear()
    graph, thread = build(), {"configurable": {"thread_id": "1"}}
    graph.invoke({"amount": 5}, thread)
    question = graph.get_state(thread)
    graph.invoke(Command(resume=first), thread)
    again(graph, thread, question, second)
    return " ".join(used)


seen = {}
for build in (node, function, subgraph):
    for again in (back, back_by_id, asked_again):
        seen[f"{build.__name__}, {again.__name__}"] = outcome(build, again, "yes", "no")
seen["node, back_twice"] = outcome(node, back_twice, "yes", "no")
seen["node, back, a late yes"] = outcome(node, back, "no", "yes")
print("langgraph", version("langgraph"), 'expected "yes no" in each of the first nine, seen', json.dumps(seen))
assert seen == {
    "node, back": "yes yes",
    "node, back_by_id": "yes yes",
    "node, asked_again": "yes no",
    "function, back": "yes yes",
    "function, back_by_id": "yes yes",
    "function, asked_again": "yes no",
    "subgraph, back": "yes",
    "subgraph, back_by_id": "yes",
    "subgraph, asked_again": "yes no",
    "node, back_twice": "yes yes yes",
    "node, back, a late yes": "no no",
}
PYTHON
venv/bin/python look.py
cat >look.mjs <<'JAVASCRIPT'
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Annotation, Command, entrypoint, interrupt, MemorySaver, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({ amount: Annotation() });
const used = [];
const pay = async () => {
  used.push(interrupt("Pay?"));
  return {};
};
const alone = () => new StateGraph(State).addNode("pay", pay).addEdge(START, "pay");
const builds = {
  node: () => alone().compile({ checkpointer: new MemorySaver() }),
  function: () => entrypoint({ name: "pay", checkpointer: new MemorySaver() }, pay),
  subgraph: () =>
    new StateGraph(State).addNode("inner", alone().compile()).addEdge(START, "inner").compile({ checkpointer: new MemorySaver() }),
};
const ways = {
  back: (graph, _, config) => graph.invoke(new Command({ resume: "no" }), config),
  asked_again: async (graph, thread, config) => {
    await graph.invoke(null, config);
    await graph.invoke(new Command({ resume: "no" }), thread);
  },
};
const seen = {};
for (const [name, build] of Object.entries(builds)) {
  for (const [way, again] of Object.entries(ways)) {
    used.length = 0;
    const graph = build();
    const thread = { configurable: { thread_id: "1" } };
    await graph.invoke({ amount: 5 }, thread);
    const { config } = await graph.getState(thread);
    await graph.invoke(new Command({ resume: "yes" }), thread);
    await again(graph, thread, config);
    seen[`${name}, ${way}`] = used.join(" ");
  }
}
const { version } = JSON.parse(readFileSync("node_modules/@langchain/langgraph/package.json", "utf8"));
console.log("@langchain/langgraph", version, 'expected "yes no" in each, seen', JSON.stringify(seen));
assert.deepEqual(seen, {
  "node, back": "yes yes",
  "node, asked_again": "yes no",
  "function, back": "yes yes",
  "function, asked_again": "yes no",
  "subgraph, back": "yes",
  "subgraph, asked_again": "yes no",
});
JAVASCRIPT
node_modules/.bin/node look.mjs
