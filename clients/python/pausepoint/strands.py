"""Strands Agents: a hook that asks people before tools run, at the point of the call.

    agent = Agent(model, tools=[...], hooks=[DeskHook(AsyncDesk(), "refund")])

The process waits. Install with `pip install "pausepoint[strands]"`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any

from strands.hooks import (
    BeforeInvocationEvent,
    BeforeToolCallEvent,
    HookEvent,
    HookOrder,
    HookProvider,
    HookRegistry,
)
from strands.interrupt import InterruptException
from strands.types._events import ToolInterruptEvent, ToolResultEvent
from strands.types.tools import AgentTool

from pausepoint import calls, gate
from pausepoint.calls import ToolCall
from pausepoint.gate import AnyDesk, Gate, Halted, NotGated, Ruling

#: Strands' type of the tool that returns structured output, which has no effect.
STRUCTURED_OUTPUT = "structured_output"


class ToolError(Exception):
    """The error of a tool that returned it as its result."""


class DeskHook(HookProvider):
    """Asks before each call of the named tools, or of all tools if none is named.

    The call runs with the approved input, and its result is reported. If it is not approved, the model is told why; if the policy
    stops the run, it raises EventLoopException because of Halted. A call whose result was reported in an earlier run does not run
    again: the model gets that result. A tool named in `questions` never runs: a person answers the first text of its input, and
    the answer is its result.
    `thread_id` names the run, so that a repeated one finds its requests; without it, the session of the agent does, if it has a
    session manager. `extra` are additional fields of each request, such as `priority` or `timeout`. A run raises NotGated if its
    agent lacks a tool named here, or has a tool that is another agent without this hook.
    """

    def __init__(
        self,
        desk: AnyDesk,
        *tools: str,
        thread_id: str = "",
        questions: Collection[str] = (),
        **extra: Any,
    ) -> None:
        self.gate = Gate(desk, tools, questions, extra)
        self.thread_id = thread_id
        self._run_id = uuid.uuid4().hex
        #: Equal calls in their order, with equal ids: some models repeat ids, or give none.
        self._equal: dict[str, list[Any]] = {}

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        registry.add_callback(BeforeInvocationEvent, self._check)
        # After the hooks that may change the call.
        registry.add_callback(
            BeforeToolCallEvent, self._ask, order=HookOrder.SDK_LAST + 1
        )

    async def _check(self, event: BeforeInvocationEvent) -> None:
        registry = event.agent.tool_registry
        tools = {**registry.registry, **registry.dynamic_tools}
        self.gate.check(tools)
        self._check_agents(tools, event)

    def _check_agents(self, tools: Mapping[str, Any], event: HookEvent) -> None:
        """Raise NotGated if a tool is an agent without this hook that has a tool which needs approval."""
        for name, tool in tools.items():
            if tool.tool_type != "agent" or _asks(tool._agent, event):
                continue
            inner = tool._agent.tool_registry.registry
            if unasked := sorted(filter(self.gate.concerns, inner)):
                raise NotGated(
                    f"The tool {name!r} is an agent of its own, whose calls of {', '.join(map(repr, unasked))} would run "
                    "unasked: hooks are for one agent. Give that agent a DeskHook, too."
                )
            self._check_agents(inner, event)

    async def _ask(self, event: BeforeToolCallEvent) -> None:
        tool = event.selected_tool
        if (
            tool is None
            or event.cancel_tool
            or tool.tool_type == STRUCTURED_OUTPUT
            or not any(
                map(self.gate.concerns, {tool.tool_name, event.tool_use["name"]})
            )
        ):
            return
        try:
            call = self._call(event, tool.tool_name)
            wanted = self.gate.wanted(call, _schema(tool))
        except calls.Unreadable as error:
            event.cancel_tool = str(error)
            return
        ruling = await gate.adecided(self.gate.desk, wanted)
        if ruling.outcome.halted:
            raise Halted(ruling.outcome)
        event.selected_tool = _DecidedTool(tool, self.gate, ruling)

    def _call(self, event: BeforeToolCallEvent, tool: str) -> ToolCall:
        use, agent = event.tool_use, event.agent
        session_id = getattr(agent._session_manager, "session_id", "")
        call_input = calls.readable_input(tool, use["input"])
        content = [agent.name, use["toolUseId"], tool, call_input]
        name = self.gate.desk.name_of(json.dumps(content, sort_keys=True))
        if name not in self._equal:
            earlier = (
                block for each in agent.messages[:-1] for block in each["content"]
            )
            self._equal[name] = [
                block["toolUse"] for block in earlier if block.get("toolUse") == use
            ]
        equal = self._equal[name]
        # The same object comes again if a hook repeats the call.
        place = next((i for i, each in enumerate(equal) if each is use), len(equal))
        if place == len(equal):
            equal.append(use)
        return ToolCall(
            tool,
            f"{use['toolUseId']}:{name}-{place}",
            call_input,
            self.thread_id or session_id or self._run_id,
            agent.name,
        )


class _DecidedTool(AgentTool):
    """A tool of which people have decided one call, in place of the tool itself: only the approved input can run, and once."""

    def __init__(self, tool: AgentTool, gate: Gate, ruling: Ruling) -> None:
        super().__init__()
        self.tool, self.gate, self.ruling = tool, gate, ruling

    tool_name = property(lambda self: self.tool.tool_name)
    tool_spec = property(lambda self: self.tool.tool_spec)
    tool_type = property(lambda self: self.tool.tool_type)

    async def stream(
        self, tool_use: Any, invocation_state: dict[str, Any], **more: Any
    ) -> AsyncIterator[Any]:
        desk = self.gate.desk
        ruling = await gate.aclaimed(desk, self.ruling, self.gate.extra)
        if not ruling.runs:
            if ruling.outcome.halted:
                state = invocation_state.setdefault("request_state", {})
                state["stop_event_loop"] = True
            yield ToolResultEvent(
                {
                    "toolUseId": tool_use["toolUseId"],
                    "status": "success" if ruling.succeeded else "error",
                    "content": [{"text": ruling.text}],
                }
            )
            return
        result: Any = None
        try:
            approved = {**tool_use, "input": ruling.input}
            async for event in self.tool.stream(approved, invocation_state, **more):
                if isinstance(event, ToolInterruptEvent):
                    await gate.arelease(desk, ruling)
                    yield event
                    return
                if result is not None:
                    yield result
                result = event
        except InterruptException:
            # The tool has asked for something first, so it has no result yet.
            await gate.arelease(desk, ruling)
            raise
        except BaseException as error:
            await gate.aended(desk, ruling, error=error)
            raise
        # The last event is the result.
        content = getattr(result, "tool_result", result) or {}
        output = _output(content)
        failure = getattr(result, "exception", None)
        if failure is None and content.get("status") == "error":
            failure = ToolError(calls.output_text(output))
        await gate.aended(desk, ruling, output=output, error=failure)
        if ruling.note:
            content["content"] = [{"text": ruling.note}, *content["content"]]
        yield result


def _asks(agent: Any, event: HookEvent) -> bool:
    callbacks = agent.hooks.get_callbacks_for(event)
    return any(
        isinstance(getattr(each, "__self__", None), DeskHook) for each in callbacks
    )


def _output(result: Mapping[str, Any]) -> Any:
    """Return the content of a result for its report: its texts as one, or a JSON value."""
    blocks = result.get("content") or []
    if len(blocks) == 1 and "json" in blocks[0]:
        return blocks[0]["json"]
    return "\n".join(each["text"] if "text" in each else str(each) for each in blocks)


def _schema(tool: AgentTool) -> Mapping[str, Any] | None:
    schema = tool.tool_spec["inputSchema"].get("json")
    return schema if isinstance(schema, Mapping) else None
