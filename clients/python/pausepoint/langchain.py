"""LangChain 1.x: a middleware that asks people before tools run, at the point of the call.

    agent = create_agent(model, tools, middleware=[DeskApproval(desk, "refund")])

No checkpointer is needed; the process waits. For threads with a checkpointer, `resume_from_desk` asks their pending questions,
and resumes each pause in one process only. Install with `pip install "pausepoint[langchain]"`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import (
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
)
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from pausepoint import gate
from pausepoint.calls import ToolCall
from pausepoint.gate import AnyDesk, Gate, Ruling
from pausepoint.nested_agents import check_nested, let_through
from pausepoint.threads import (
    CannotGoOn,
    RanRejected,
    aresume_from_desk,
    resume_from_desk,
)

__all__ = [
    "CannotGoOn",
    "DeskApproval",
    "RanRejected",
    "aresume_from_desk",
    "resume_from_desk",
]

Ran = ToolMessage | Command[Any]

#: Types of tools that are given as a dict, called by the model, and run by the program.
CALLED_HERE = (
    "function",
    "custom",
    "bash_",
    "text_editor_",
    "computer",
    "memory_",
    "local_shell",
    "apply_patch",
)


class DeskApproval(AgentMiddleware[Any, Any, Any]):
    """Asks before each call of the named tools, or of all tools if none is named.

    The call runs with the approved input, and its result is reported. If it is not approved, the model is told why. A call whose
    result was reported in an earlier run does not run again: the model gets that result. A tool named in `questions` never runs:
    a person answers the first text of its input, and the answer is its result.
    `extra` are additional fields of each request, such as `priority` or `timeout`. A run raises NotGated if its agent lacks a
    tool named here, if the provider of the model runs that tool, or if an agent within a tool would run it without asking: each
    agent needs a middleware of its own.
    """

    def __init__(
        self, desk: AnyDesk, *tools: str, questions: Collection[str] = (), **extra: Any
    ) -> None:
        super().__init__()
        self.gate = Gate(desk, tools, questions, extra)

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        self._check(request)
        return handler(request)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        self._check(request)
        return await handler(request)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Ran]
    ) -> Ran:
        call = _call(request)
        if not self.gate.concerns(call.name):
            self.gate.check_unasked(call.name)
            with let_through(self.gate, call.name, call.id):
                return handler(request)
        ruling = self.gate.decided(call, _schema(request.tool))
        if not ruling.runs:
            return _message(request, ruling)
        desk = gate.blocking(self.gate.desk)
        try:
            with let_through(self.gate, call.name, call.id):
                ran = handler(_approved(request, ruling))
        except GraphBubbleUp:
            # The tool has paused the graph, so it has no result yet.
            gate.release(desk, ruling)
            raise
        except BaseException as error:
            gate.ended(desk, ruling, error=error)
            raise
        gate.ended(desk, ruling, **_result(ran))
        return _told(ran, ruling)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[Ran]],
    ) -> Ran:
        call = _call(request)
        if not self.gate.concerns(call.name):
            self.gate.check_unasked(call.name)
            with let_through(self.gate, call.name, call.id):
                return await handler(request)
        ruling = await self.gate.adecided(call, _schema(request.tool))
        if not ruling.runs:
            return _message(request, ruling)
        try:
            with let_through(self.gate, call.name, call.id):
                ran = await handler(_approved(request, ruling))
        except GraphBubbleUp:
            await gate.arelease(self.gate.desk, ruling)
            raise
        except BaseException as error:
            await gate.aended(self.gate.desk, ruling, error=error)
            raise
        await gate.aended(self.gate.desk, ruling, **_result(ran))
        return _told(ran, ruling)

    def _check(self, request: ModelRequest[Any]) -> None:
        elsewhere = [_name(tool) for tool in request.tools if _at_provider(tool)]
        self.gate.check(map(_name, request.tools), elsewhere)
        check_nested(self.gate, request.tools, DeskApproval)


def _name(tool: BaseTool | dict[str, Any]) -> str:
    if isinstance(tool, BaseTool):
        return tool.name
    return str(
        tool.get("name")
        or tool.get("function", {}).get("name")
        or tool.get("type")
        or next(iter(tool), "")
    )


def _at_provider(tool: BaseTool | dict[str, Any]) -> bool:
    """Return whether the provider runs a tool: it is given as a dict that does not describe a call for us."""
    if isinstance(tool, BaseTool):
        return False
    kind = str(tool.get("type") or ("function" if "name" in tool else ""))
    return not kind.startswith(CALLED_HERE)


def _schema(tool: BaseTool | None) -> dict[str, Any] | None:
    """Return the JSON Schema of the model's input to a tool, if there is one."""
    try:
        schema: Any = tool.tool_call_schema if tool else None
        return (
            schema
            if isinstance(schema, dict) or schema is None
            else schema.model_json_schema()
        )
    except Exception:
        # For example, a type that JSON Schema does not have.
        return None


def _call(request: ToolCallRequest) -> ToolCall:
    call = request.tool_call
    config = getattr(request.runtime, "config", None) or {}
    thread = str(config.get("configurable", {}).get("thread_id", ""))
    return ToolCall(call["name"], call["id"] or "", call["args"], thread)


def _approved(request: ToolCallRequest, ruling: Ruling) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": ruling.input})


def _message(request: ToolCallRequest, ruling: Ruling) -> ToolMessage:
    """Return the message to the model for a call that does not run."""
    call, output = request.tool_call, ruling.output
    # A reported list of contents is passed on as such.
    content = (
        output
        if isinstance(output, list) and not ruling.note and all(map(_is_block, output))
        else ruling.text
    )
    status: Any = "success" if ruling.succeeded else "error"
    return ToolMessage(
        content, tool_call_id=call["id"], name=call["name"], status=status
    )


def _is_block(item: Any) -> bool:
    return isinstance(item, str) or (isinstance(item, dict) and "type" in item)


def _result(ran: Ran) -> dict[str, Any]:
    """Return the result of a call, for its report."""
    if not isinstance(ran, ToolMessage):
        return {"output": str(ran)}
    return (
        {"error": RuntimeError(str(ran.text))}
        if ran.status == "error"
        else {"output": ran.content}
    )


def _told(ran: Ran, ruling: Ruling) -> Ran:
    """Return the result with the note for the model."""
    if not isinstance(ran, ToolMessage) or not isinstance(ran.content, str):
        return ran
    return ran.model_copy(update={"content": ruling.noted(ran.content)})
