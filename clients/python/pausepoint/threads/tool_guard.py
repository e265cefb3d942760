"""Watch the tools of a graph while a stored thread is resumed, so that unapproved calls do not run.

People's answers pass through the graph, and a graph may drop them: a middleware whose condition has become false no longer asks,
and its call runs, even if rejected. So each starting tool is compared with the decision about its call.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables.config import merge_configs
from langgraph.errors import GraphBubbleUp

from pausepoint import calls
from pausepoint.calls import STOPPED
from pausepoint.desk import DeskError, Outcome


class Blocked(DeskError):
    """A tool was about to run against people's decision. It did not."""


@dataclass(slots=True)
class DecidedCall:
    """A call of the model with its decision. `call_id` is empty where the thread does not show it."""

    name: str
    args: Mapping[str, Any]
    call_id: str
    outcome: Outcome
    #: Its result in this process, as keywords of a report, and whether it began.
    result: dict[str, Any] | None = None
    began: bool = False

    def refusal(self, args: Mapping[str, Any]) -> str:
        """Return why the call may not run with these arguments, for the model; empty if it may."""
        if self.outcome.result is not None:
            return calls.known_result(self.outcome.result)
        if self.result is not None:
            return calls.known_result(_reported(self.result))
        if not self.outcome.approved:
            return calls.refusal(self.outcome)
        approved = self.outcome.input or {}
        if (
            self.outcome.edited
            and not calls.same_input(args, approved)
            and calls.same_input(args, self.args)
        ):
            return f"{calls.note(self.outcome)} It was not run. Make the call again with that input."
        return ""

    def stopped(self) -> dict[str, Any] | None:
        """Return the result of a call whose run ended in an error, None if it did not begin."""
        return self.result or ({"error": RuntimeError(STOPPED)} if self.began else None)


def _reported(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result in the form in which it is read back."""
    fields = calls.result_fields(result.get("output"), result.get("error"))
    return {**fields, "state": "failed" if "error" in fields else "succeeded"}


class ToolGuard(BaseCallbackHandler):
    """Keeps tools from running against decisions, and notes the results of the others, in the graph and all its subgraphs."""

    #: An error of a handler stops the tool instead of being logged; it runs in the tool's own task, so that it comes first.
    raise_error = True
    run_inline = True

    def __init__(self, decided: Sequence[DecidedCall]) -> None:
        self.decided = decided
        self._running: dict[UUID, DecidedCall] = {}
        self._lock = threading.Lock()

    def watching(self, config: Mapping[str, Any]) -> Any:
        """Return a configuration with this handler added."""
        return merge_configs(config, {"callbacks": [self]})  # type: ignore[arg-type]

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        inputs: dict[str, Any] | None = None,
        tool_call_id: str | None = None,
        **_: Any,
    ) -> None:
        args = inputs or {}
        with self._lock:
            call = self._find(
                str((serialized or {}).get("name")), args, tool_call_id or ""
            )
            if call is None:
                return
            if refusal := call.refusal(args):
                raise Blocked(refusal)
            call.began = True
            self._running[run_id] = call

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        if (call := self._running.pop(run_id, None)) is not None:
            call.result = result_of(output)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        call = self._running.pop(run_id, None)
        if call is None:
            return
        if isinstance(error, GraphBubbleUp):
            # It has paused the graph, so it has no result yet.
            call.began = False
        else:
            call.result = {"error": error}

    def _find(
        self, name: str, args: Mapping[str, Any], call_id: str
    ) -> DecidedCall | None:
        """Return the decision about a call: by id, or by content if the thread does not show the id."""
        known = next(
            (each for each in self.decided if call_id and each.call_id == call_id), None
        )
        if known is not None:
            return known
        for each in self.decided:
            if each.call_id or each.began or each.name != name:
                continue
            if calls.same_input(args, each.args) or calls.same_input(
                args, each.outcome.input
            ):
                return each
        return None


def result_of(message: Any) -> dict[str, Any]:
    """Return the result of a tool, as keywords of a report."""
    content = getattr(message, "content", None)
    if content is None:
        return {"output": message if isinstance(message, str) else str(message)}
    if getattr(message, "status", "") == "error":
        return {"error": RuntimeError(str(message.text))}
    return {"output": content}
