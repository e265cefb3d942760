"""Google ADK: a plugin that asks people before tools run, at the point of the call.

    app = App(name="billing", root_agent=agent, plugins=[DeskPlugin(desk, "refund")])

The process waits. Install with `pip install "pausepoint[google-adk]"`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from typing import Any

from google.adk.agents import BaseAgent, InvocationContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools import AgentTool, BaseTool, ToolContext
from google.adk.tools.example_tool import ExampleTool
from google.adk.tools.preload_memory_tool import PreloadMemoryTool

from pausepoint import gate
from pausepoint.calls import ToolCall
from pausepoint.gate import AnyDesk, Gate, NotGated, Ruling


class DeskPlugin(BasePlugin):
    """Asks before each call of the named tools, or of all tools if none is named.

    The call runs with the approved input, and its result is reported. If it is not approved, the model is told why. A call whose
    result was reported in an earlier run does not run again: the model gets that result. A tool named in `questions` never runs:
    a person answers the first text of its input, and the answer is its result.
    `extra` are additional fields of each request, such as `priority` or `timeout`. A run raises NotGated if no agent of the app
    has a tool named here, if the model runs that tool itself, or if an agent that is a tool does not get the plugins.
    """

    def __init__(
        self, desk: AnyDesk, *tools: str, questions: Collection[str] = (), **extra: Any
    ) -> None:
        super().__init__(name="pausepoint")
        self.gate = Gate(desk, tools, questions, extra)
        #: Approved calls that have not run yet, by invocation and call.
        self._approved: dict[tuple[str, str], Ruling] = {}

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> None:
        await self._check(invocation_context)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        call_id, thread = tool_context.function_call_id or "", tool_context.session.id
        call = ToolCall(
            tool.name, call_id, dict(tool_args), thread, tool_context.agent_name
        )
        if not self.gate.concerns(call.name):
            if call.name not in self.gate.known:
                # A live run does not begin with `before_run_callback` in all versions.
                await self._check(tool_context._invocation_context)
            return None
        ruling = await self.gate.adecided(call, _schema(tool))
        if not ruling.runs:
            output = ruling.output
            if not ruling.succeeded:
                return _noted({"error": output}, ruling)
            return _noted(
                output if isinstance(output, dict) else {"result": output}, ruling
            )
        self._approved[_place(tool_context)] = ruling
        # In place: the tool is called with this dict.
        tool_args.clear()
        tool_args.update(ruling.input)
        return None

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: Any,
    ) -> dict[str, Any] | None:
        ruling = self._approved.pop(_place(tool_context), None)
        if ruling is None:
            return None
        await gate.aended(self.gate.desk, ruling, output=result)
        return (
            _noted(result if isinstance(result, dict) else {"result": result}, ruling)
            if ruling.note
            else None
        )

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: Exception,
    ) -> dict[str, Any] | None:
        if ruling := self._approved.pop(_place(tool_context), None):
            await gate.aended(self.gate.desk, ruling, error=error)
        return None

    async def _check(self, invocation: InvocationContext) -> None:
        tools = [
            tool
            async for tool in _tools(
                invocation.agent.root_agent, ReadonlyContext(invocation)
            )
        ]
        self.gate.check(
            [tool.name for tool in tools],
            [tool.name for tool in tools if _in_model(tool)],
        )
        for tool in tools:
            if isinstance(tool, AgentTool) and not tool.include_plugins:
                await self._check_isolated(tool, ReadonlyContext(invocation))

    async def _check_isolated(self, tool: AgentTool, context: ReadonlyContext) -> None:
        """Raise NotGated if an agent without this plugin has a tool that needs approval."""
        names = {inner.name async for inner in _tools(tool.agent, context)}
        if unasked := sorted(name for name in names if self.gate.concerns(name)):
            raise NotGated(
                f"The tool {tool.name!r} is an agent of its own, whose calls of {', '.join(map(repr, unasked))} would run "
                "unasked: it does not get the plugins of the app. Give its AgentTool include_plugins=True."
            )


def _noted(result: dict[str, Any], ruling: Ruling) -> dict[str, Any]:
    """Return a result with the note for the model beside it."""
    return {**result, "note": ruling.note} if ruling.note else result


async def _tools(agent: BaseAgent, context: ReadonlyContext) -> AsyncIterator[BaseTool]:
    """Yield the tools of an agent, of its sub-agents, and of agents that are tools."""
    find = getattr(agent, "canonical_tools", None)
    for tool in await find(context) if find else ():
        yield tool
        if isinstance(tool, AgentTool):
            async for inner in _tools(tool.agent, context):
                yield inner
    for sub_agent in agent.sub_agents:
        async for inner in _tools(sub_agent, context):
            yield inner


def _in_model(tool: BaseTool) -> bool:
    """Return whether the model runs a tool itself, such as a search: it is not declared as a function."""
    return (
        not isinstance(tool, ExampleTool | PreloadMemoryTool)
        and tool._get_declaration() is None
    )


def _schema(tool: BaseTool) -> dict[str, Any] | None:
    """Return the JSON Schema of a tool's arguments, if available; Gemini's has other names for types."""
    declared = tool._get_declaration()
    schema = getattr(declared, "parameters_json_schema", None)
    return schema if isinstance(schema, dict) else None


def _place(context: ToolContext) -> tuple[str, str]:
    return context.invocation_id, context.function_call_id or ""
