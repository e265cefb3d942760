"""Microsoft Agent Framework: a middleware that asks people before tools run, at the point of the call.

    agent = Agent(client, tools=..., middleware=[DeskMiddleware(desk, "refund")])

The process waits. Install with `pip install "pausepoint[agent-framework]"`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from agent_framework import (
    ChatContext,
    ChatMiddleware,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    MiddlewareBundle,
    MiddlewareFailure,
    MiddlewareTermination,
    UserInputRequiredException,
)

from pausepoint import gate
from pausepoint.calls import ToolCall
from pausepoint.gate import AnyDesk, Gate, NotGated


class DeskMiddleware(MiddlewareBundle):
    """Asks before each call of the named tools, or of all tools if none is named.

    The call runs with the approved input, and its result is reported. If it is not approved, the model is told why. A call whose
    result was reported in an earlier run does not run again: the model gets that result. A tool named in `questions` never runs:
    a person answers the first text of its input, and the answer is its result.
    `extra` are additional fields of each request, such as `priority` or `timeout`. A run raises NotGated if its agent lacks a
    tool named here, if the provider of the model runs that tool, or if one of its tools is another agent without this middleware.
    """

    def __init__(
        self, desk: AnyDesk, *tools: str, questions: Collection[str] = (), **extra: Any
    ) -> None:
        self.gate = Gate(desk, tools, questions, extra)
        super().__init__([_Ask(self.gate), _Check(self.gate)])


class _Ask(FunctionMiddleware):
    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    async def process(
        self,
        context: FunctionInvocationContext,
        call_next: Callable[[], Awaitable[None]],
    ) -> None:
        call = _call(context)
        if not self.gate.concerns(call.name):
            try:
                # The chat middleware of a client without a ChatMiddlewareLayer does not run.
                _check(self.gate, getattr(context, "tools", None) or [])
                self.gate.check_unasked(call.name)
            except NotGated as error:
                # An ordinary error would be told to the model, and the run would continue.
                raise MiddlewareFailure(str(error)) from error
            await call_next()
            return
        ruling = await self.gate.adecided(call, _schema(context.function))
        if not ruling.runs:
            context.result = ruling.text
            return
        context.arguments = ruling.input
        try:
            await call_next()
        except UserInputRequiredException:
            # The tool has asked for something first, so it has no result yet.
            await gate.arelease(self.gate.desk, ruling)
            raise
        except MiddlewareTermination as ending:
            # It ends the run without being an error: it may carry a result.
            result = context.result if ending.result is None else ending.result
            await gate.aended(self.gate.desk, ruling, output=_output(result))
            raise
        except BaseException as error:
            await gate.aended(self.gate.desk, ruling, error=error)
            raise
        output = _output(context.result)
        await gate.aended(self.gate.desk, ruling, output=output)
        if ruling.note and isinstance(output, str):
            context.result = ruling.noted(output)


class _Check(ChatMiddleware):
    """Checks the tools that the model is given."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    async def process(
        self, context: ChatContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        _check(self.gate, (context.options or {}).get("tools") or [])
        await call_next()


def _check(gate: Gate, tools: Sequence[Any]) -> None:
    """Raise NotGated if calls of these tools, which the model is given, would run without asking."""
    elsewhere = [_name(tool) for tool in tools if not isinstance(tool, FunctionTool)]
    gate.check(map(_name, tools), elsewhere)
    for tool in tools:
        agent = _agent_of(tool)
        if agent is None or any(
            isinstance(each, DeskMiddleware) for each in agent.middleware or ()
        ):
            continue
        names = [getattr(each, "name", "") for each in _tools_of(agent)]
        if unasked := sorted(name for name in names if gate.concerns(name)):
            raise NotGated(
                f"The tool {tool.name!r} is an agent of its own, whose calls of {', '.join(map(repr, unasked))} would run "
                "unasked: a middleware is for one agent. Give that agent a DeskMiddleware, too."
            )


def _name(tool: Any) -> str:
    """Return the name of a tool; a tool run by the provider may be a dict."""
    if isinstance(tool, Mapping):
        return str(tool.get("name") or tool.get("type") or next(iter(tool), ""))
    return str(
        getattr(tool, "name", None)
        or getattr(tool, "type", None)
        or type(tool).__name__
    )


def _agent_of(tool: Any) -> Any:
    """Return the agent of a tool made by `as_tool`, which keeps it in a closure."""
    function: Any = getattr(tool, "func", None)
    if ".as_tool.<locals>." not in getattr(function, "__qualname__", ""):
        return None
    return inspect.getclosurevars(function).nonlocals.get("self")


def _tools_of(agent: Any) -> Iterator[Any]:
    """Yield the tools of an agent, including those of agents that it has as tools."""
    for tool in [*(agent.default_options.get("tools") or ()), *agent.mcp_tools]:
        yield tool
        if (inner := _agent_of(tool)) is not None:
            yield from _tools_of(inner)


def _call(context: FunctionInvocationContext) -> ToolCall:
    arguments: Any = context.arguments
    wanted = (
        arguments
        if isinstance(arguments, Mapping)
        else arguments.model_dump(mode="json")
    )
    thread = getattr(context.session, "session_id", None) or ""
    return ToolCall(
        context.function.name, str(context.metadata.get("call_id", "")), wanted, thread
    )


def _schema(tool: FunctionTool) -> dict[str, Any] | None:
    try:
        schema: dict[str, Any] = tool.parameters()
    except Exception:
        # For example, a type that JSON Schema does not have.
        return None
    return schema


def _output(result: Any) -> Any:
    """Return the output of a call for its report; a list of text contents becomes one text."""
    if isinstance(result, list):
        texts = [getattr(content, "text", None) for content in result]
        return (
            "\n".join(map(str, texts))
            if texts and all(texts)
            else [str(content) for content in result]
        )
    return result
