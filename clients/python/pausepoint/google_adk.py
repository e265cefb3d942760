"""Google ADK: a plugin that asks people before tools run, in the place where the call starts.

    app = App(name="billing", root_agent=agent, plugins=[DeskPlugin(desk, "refund")])

The process waits. Install with `pip install "pausepoint[google-adk]"`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools import BaseTool, ToolContext

from pausepoint import calls
from pausepoint.calls import AnyDesk, ToolCall
from pausepoint.desk import Outcome


class DeskPlugin(BasePlugin):
    """Asks before each call of the named tools, or of all tools if none is named.

    The call runs with the input that was approved, and its result is reported. If it was not approved, the model is told why.
    A tool named in `questions` never runs: a person answers the first text of its input, and the answer is its result.
    `asked` are more fields of each request, such as `priority` or `timeout`.
    """

    def __init__(self, desk: AnyDesk, *tools: str, questions: Collection[str] = (), **asked: Any) -> None:
        super().__init__(name="pausepoint")
        self.desk, self.names, self.questions, self.asked = desk, frozenset(tools), frozenset(questions), asked
        #: Approved calls that have not run yet, by invocation and call.
        self._approved: dict[tuple[str, str], Outcome] = {}

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        call = _call(tool, tool_args, tool_context)
        if call.name in self.questions:
            outcome = await calls.await_human(self.desk, call.question_title, **{**call.question(), **self.asked})
            return {"result" if outcome.answer is not None else "error": calls.answer_text(outcome)}
        if self.names and call.name not in self.names:
            return None
        outcome = await calls.await_human(self.desk, call.title, **{**call.approval(), **self.asked})
        if not outcome.approved:
            return {"error": calls.refusal(outcome)}
        self._approved[_place(tool_context)] = outcome
        # In place: the tool is called with this dict.
        tool_args.clear()
        tool_args.update(outcome.input or {})
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        outcome = self._approved.pop(_place(tool_context), None)
        if outcome is None:
            return None
        await calls.areport(self.desk, outcome, output=result)
        if not outcome.edited:
            return None
        # The model's own words say otherwise.
        return {**(result if isinstance(result, dict) else {"result": result}), "note": calls.change(outcome)}

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any] | None:
        if outcome := self._approved.pop(_place(tool_context), None):
            await calls.areport(self.desk, outcome, error=error)
        return None


def _call(tool: BaseTool, args: dict[str, Any], context: ToolContext) -> ToolCall:
    return ToolCall(tool.name, context.function_call_id or "", dict(args), context.session.id, context.agent_name)


def _place(context: ToolContext) -> tuple[str, str]:
    return context.invocation_id, context.function_call_id or ""
