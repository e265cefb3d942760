"""Find nodes that run several calls of tools as one task: LangGraph may give the answer for one call to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain_core.runnables import RunnableSequence
from langchain_core.runnables.utils import get_function_nonlocals

from pausepoint.threads.steps import CannotGoOn, last_calls

#: The beginning of the path of a task that an edge of the graph started, not a `Send`.
PULLED = "__pregel_pull"


def check_answers_reach_their_calls(graph: Any, state: Any) -> None:
    """Raise CannotGoOn if a `ToolNode` of the graph or its subgraphs runs several calls as one task, and one of them asks.

    LangGraph gives the answer to the call that asks first then, not to the one that people were asked about (seen with langgraph
    1.2.24, findings/langgraph-tool-nodes-mix-up-answers.sh). `state` has the states of the subgraphs.
    """
    subgraphs = dict(graph.get_subgraphs())
    for task in state.tasks:
        if not task.interrupts:
            continue
        node = graph.nodes.get(task.name)
        if hasattr(task.state, "tasks") and task.name in subgraphs:
            check_answers_reach_their_calls(subgraphs[task.name], task.state)
        elif task.path[0] == PULLED and _has_tool_node(node):
            last, answered = last_calls(state)
            if len(last) - len(answered) > 1:
                raise CannotGoOn(
                    "Several calls of tools are one task of the graph, and LangGraph may give the answer for one of them to "
                    "another. So no one is asked. Let each call be a task of its own, such as by Send."
                )


def _has_tool_node(node: Any) -> bool:
    """Return whether a node is a `ToolNode`, or one stands in it or in its function, where LangGraph looks for subgraphs too."""
    left = [node]
    seen: set[int] = set()
    while left:
        part = left.pop()
        if hasattr(part, "tools_by_name"):
            return True
        if id(part) not in seen:
            seen.add(id(part))
            left += _parts(part)
    return False


def _parts(part: Any) -> Iterator[Any]:
    """Yield what a configuration, retries or a sequence contain, and the objects that a function refers to."""
    if bound := getattr(part, "bound", None):
        yield bound
    if isinstance(part, RunnableSequence):
        yield from part.steps
    for function in (getattr(part, "func", None), getattr(part, "afunc", None)):
        if not callable(function):
            continue
        for each in get_function_nonlocals(function):
            yield getattr(each, "__self__", each)
        owner = getattr(function, "__self__", function)
        yield from getattr(owner, "__dict__", {}).values()
