#!/usr/bin/env bash
# LangGraph: an entrypoint or node with a `retry_policy` runs tasks or a subgraph, and then fails once.
# Guess: a retry continues from what has ended, as a call of `invoke(None)` after an error does. Seen: a retry inside the process counts
# the tasks on from where the failed attempt stopped, so it finds none of their results. Every task runs again, also one that ended before the
# pause, and a person is asked again for the same subgraph. After the next pause the count begins at the first task again, so a run
# approved with the result of the retry goes on with the result of the failed attempt.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langgraph==1.2.24
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version
from typing import TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, RetryPolicy, interrupt

CONFIG = {"configurable": {"thread_id": "1"}}
RETRIES = {"retry_policy": RetryPolicy(initial_interval=0.01, max_attempts=2)}
runs, failures = [], []


@task
def effect(name):
    runs.append(name)
    return f"{name} {runs.count(name)}"


def fail_once():
    if failures:
        raise failures.pop()


def begin():
    runs.clear()
    failures[:] = [ConnectionError("away")]


def after_the_pause(**policy):
    """Pay after a person's answer, fail once; return the effects that ran."""

    @entrypoint(checkpointer=InMemorySaver(), **policy)
    def workflow(_):
        effect("reserve").result()
        interrupt("Pay?")
        effect("pay").result()
        fail_once()

    begin()
    workflow.invoke(1, CONFIG)
    try:
        workflow.invoke(Command(resume="yes"), CONFIG)
    except ConnectionError:
        workflow.invoke(None, CONFIG)
    return list(runs)


def before_the_pause():
    """Fail once before the question; return the question, and what goes on after the answer."""

    @entrypoint(checkpointer=InMemorySaver(), **RETRIES)
    def workflow(_):
        quote = effect("quote").result()
        fail_once()
        interrupt(f"Accept {quote}?")
        return quote

    begin()
    asked = workflow.invoke(1, CONFIG)["__interrupt__"][0].value
    return asked, workflow.invoke(Command(resume="yes"), CONFIG)


class State(TypedDict):
    verdict: str


def with_a_subgraph(**policy):
    """Ask in a subgraph that a node calls, fail once after it; return how often people are asked until the run ends."""
    inner = StateGraph(State)
    inner.add_node("ask", lambda state: {"verdict": interrupt("Pay?")})
    inner.add_edge(START, "ask")
    inner = inner.compile()

    def outer(state):
        result = inner.invoke(state)
        fail_once()
        return result

    graph = StateGraph(State)
    graph.add_node("outer", outer, **policy)
    graph.add_edge(START, "outer")
    app = graph.compile(checkpointer=InMemorySaver())
    begin()
    app.invoke({"verdict": ""}, CONFIG)
    asked = 1
    while app.get_state(CONFIG).next:
        try:
            app.invoke(Command(resume="yes") if app.get_state(CONFIG).interrupts else None, CONFIG)
        except ConnectionError:
            continue
        asked += len(app.get_state(CONFIG).interrupts)
    return asked


plain, retried, quoted = after_the_pause(), after_the_pause(**RETRIES), before_the_pause()
asked = with_a_subgraph(), with_a_subgraph(**RETRIES)
print("langgraph", version("langgraph"), plain, retried, quoted, asked)
assert plain == ["reserve", "pay"]
assert retried == ["reserve", "pay", "reserve", "pay"]
assert quoted == ("Accept quote 2?", "quote 1")
assert asked == (1, 2)
PYTHON
