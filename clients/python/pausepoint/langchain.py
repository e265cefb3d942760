"""LangChain 1.x: a middleware that asks people before tools run, in the place where the call starts.

    agent = create_agent(model, tools, middleware=[DeskApproval(desk, "refund")])

No checkpointer is needed; the process waits. For threads with a checkpointer, `resume_from_desk` asks what they wait for, and
resumes each pause in one process only. Install with `pip install "pausepoint[langchain]"`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from pausepoint import calls
from pausepoint.calls import AnyDesk, ToolCall
from pausepoint.desk import Outcome
from pausepoint.threads import aresume_from_desk, resume_from_desk

__all__ = ["DeskApproval", "aresume_from_desk", "resume_from_desk"]

Ran = ToolMessage | Command[Any]


class DeskApproval(AgentMiddleware[Any, Any, Any]):
    """Asks before each call of the named tools, or of all tools if none is named.

    The call runs with the input that was approved, and its result is reported. If it was not approved, the model is told why.
    A tool named in `questions` never runs: a person answers the first text of its input, and the answer is its result.
    `asked` are more fields of each request, such as `priority` or `timeout`.
    """

    def __init__(self, desk: AnyDesk, *tools: str, questions: Collection[str] = (), **asked: Any) -> None:
        super().__init__()
        self.desk, self.names, self.questions, self.asked = desk, frozenset(tools), frozenset(questions), asked

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Ran]) -> Ran:
        call = _call(request)
        if call.name in self.questions:
            return self._answered(
                request, calls.blocking(self.desk).await_human(call.question_title, **self._question(call))
            )
        if not self._asks_about(call):
            return handler(request)
        desk = calls.blocking(self.desk)
        outcome = desk.await_human(call.title, **self._approval(call))
        if not outcome.approved:
            return _refused(request, outcome)
        try:
            ran = handler(_approved(request, outcome))
        except GraphBubbleUp:
            # The tool has paused the graph, so it has no result yet.
            raise
        except Exception as error:
            calls.report(desk, outcome, error=error)
            raise
        calls.report(desk, outcome, **_said(ran))
        return _told(ran, outcome)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Ran]]
    ) -> Ran:
        call = _call(request)
        if call.name in self.questions:
            return self._answered(
                request, await calls.await_human(self.desk, call.question_title, **self._question(call))
            )
        if not self._asks_about(call):
            return await handler(request)
        outcome = await calls.await_human(self.desk, call.title, **self._approval(call))
        if not outcome.approved:
            return _refused(request, outcome)
        try:
            ran = await handler(_approved(request, outcome))
        except GraphBubbleUp:
            raise
        except Exception as error:
            await calls.areport(self.desk, outcome, error=error)
            raise
        await calls.areport(self.desk, outcome, **_said(ran))
        return _told(ran, outcome)

    def _asks_about(self, call: ToolCall) -> bool:
        return call.name in self.names or not self.names

    def _approval(self, call: ToolCall) -> dict[str, Any]:
        return {**call.approval(), **self.asked}

    def _question(self, call: ToolCall) -> dict[str, Any]:
        return {**call.question(), **self.asked}

    def _answered(self, request: ToolCallRequest, outcome: Outcome) -> ToolMessage:
        return _message(request, calls.answer_text(outcome), "success" if outcome.answer is not None else "error")


def _call(request: ToolCallRequest) -> ToolCall:
    call = request.tool_call
    config = getattr(request.runtime, "config", None) or {}
    thread = str(config.get("configurable", {}).get("thread_id", ""))
    return ToolCall(call["name"], call["id"] or "", call["args"], thread)


def _approved(request: ToolCallRequest, outcome: Outcome) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": dict(outcome.input or {})})


def _refused(request: ToolCallRequest, outcome: Outcome) -> ToolMessage:
    return _message(request, calls.refusal(outcome), "error")


def _message(request: ToolCallRequest, text: str, status: Any) -> ToolMessage:
    return ToolMessage(text, tool_call_id=request.tool_call["id"], name=request.tool_call["name"], status=status)


def _said(ran: Ran) -> dict[str, Any]:
    """Return the result of a call, for its report."""
    if not isinstance(ran, ToolMessage):
        return {"output": str(ran)}
    return {"error": RuntimeError(str(ran.text))} if ran.status == "error" else {"output": ran.content}


def _told(ran: Ran, outcome: Outcome) -> Ran:
    """Return the result with a note for the model if a person has changed the call: its own words say otherwise."""
    if not outcome.edited or not isinstance(ran, ToolMessage) or not isinstance(ran.content, str):
        return ran
    return ran.model_copy(update={"content": f"{calls.change(outcome)}\n\n{ran.content}"})
