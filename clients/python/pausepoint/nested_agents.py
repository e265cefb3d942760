"""Agents run by tools of a LangChain agent: none of the named tools runs there without asking.

A middleware belongs to one agent. An agent within a tool, such as those of Deep Agents' tool `task`, has its own middlewares.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tools import BaseTool
from langchain_core.tracers.context import register_configure_hook

from pausepoint.gate import Gate, NotGated

WHAT_TO_DO = "Give each agent a DeskApproval of its own, such as in the `middleware` of each sub-agent, the general one included."


class _Watch(BaseCallbackHandler):
    """Stops a tool that needs approval if no DeskApproval has asked about it."""

    raise_error = True
    run_inline = True

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        tool_call_id: str | None = None,
        **_: Any,
    ) -> None:
        name = str((serialized or {}).get("name"))
        if (name, tool_call_id or "") not in _LET_THROUGH.get() and self.gate.concerns(
            name
        ):
            raise NotGated(
                f"The call of {name!r} was not run: an agent within a tool has made it, and no one was asked. {WHAT_TO_DO}"
            )


#: The watch on tools that begin in this context; LangChain adds it to their callbacks.
_WATCH: ContextVar[_Watch | None] = ContextVar("pausepoint_watch", default=None)
#: The calls that a DeskApproval lets run in this context, by name and id.
_LET_THROUGH: ContextVar[frozenset[tuple[str, str]]] = ContextVar(
    "pausepoint_let_through", default=frozenset()
)
register_configure_hook(_WATCH, inheritable=True)


@contextlib.contextmanager
def let_through(gate: Gate, name: str, call_id: str) -> Iterator[None]:
    """Let this one call run in the block; others that begin within it still need approval."""
    watch = _WATCH.set(_Watch(gate))
    through = _LET_THROUGH.set(_LET_THROUGH.get() | {(name, call_id)})
    try:
        yield
    finally:
        _LET_THROUGH.reset(through)
        _WATCH.reset(watch)


def check_nested(gate: Gate, tools: Iterable[Any], middleware: type) -> None:
    """Raise NotGated if an agent within a tool has a tool that needs approval, but no such middleware."""
    for tool in tools:
        for name, agent in _agents_of(tool):
            node = getattr(agent.nodes.get("tools"), "bound", None)
            names = sorted(
                each
                for each in getattr(node, "tools_by_name", ())
                if gate.concerns(each)
            )
            if names and not _keeps(getattr(node, "_wrap_tool_call", None), middleware):
                raise NotGated(
                    f"The tool {tool.name!r} runs the agent {name!r}, whose calls of {', '.join(map(repr, names))} would run "
                    f"unasked. {WHAT_TO_DO}"
                )


def _agents_of(tool: Any) -> Iterator[tuple[str, Any]]:
    """Yield the agents that a tool's function keeps in a closure, as Deep Agents does."""
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    if not isinstance(tool, BaseTool) or not inspect.isfunction(function):
        return
    for kept in inspect.getclosurevars(function).nonlocals.values():
        for name, each in kept.items() if isinstance(kept, dict) else [("", kept)]:
            if isinstance(getattr(each, "nodes", None), dict):
                yield str(name or getattr(each, "name", "")), each


def _keeps(function: Any, middleware: type, levels: int = 20) -> bool:
    """Return whether a chain of call wrappers contains this middleware: each keeps the next in a closure."""
    if levels == 0 or function is None:
        return False
    if isinstance(getattr(function, "__self__", None), middleware):
        return True
    cells = getattr(function, "__closure__", None) or ()
    return any(
        _keeps(cell.cell_contents, middleware, levels - 1)
        for cell in cells
        if callable(cell.cell_contents)
    )
