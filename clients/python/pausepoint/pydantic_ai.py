"""pydantic-ai: answers deferred tool calls with people's decisions, in the run that waits for them.

    agent = Agent(model, tools=..., capabilities=[HandleDeferredToolCalls(desk)])

It asks about tools with `requires_approval=True` or `ApprovalRequired`, and puts `CallDeferred(kind="question")` to people.
Install with `pip install "pausepoint[pydantic-ai]"`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import (
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDefinition,
    ToolDenied,
)

from pausepoint import calls
from pausepoint.calls import AnyDesk, ToolCall
from pausepoint.desk import Outcome


class HandleDeferredToolCalls(AbstractCapability[Any]):
    """Asks about all deferred calls of a step at once, and reports the results of those that ran.

    Calls of the kind `external` are left to others. `asked` are more fields of each request, such as `priority`.
    """

    def __init__(self, desk: AnyDesk, **asked: Any) -> None:
        self.desk, self.asked = desk, asked
        #: Approved calls that have not run yet, by run and call.
        self._approved: dict[tuple[str, str], Outcome] = {}

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        questions = [call for call in requests.calls if requests.kind(call.tool_call_id) == "question"]
        if not requests.approvals and not questions:
            return None
        approvals, answers = await asyncio.gather(
            asyncio.gather(*(self._approval(ctx, call, requests) for call in requests.approvals)),
            asyncio.gather(*(self._answer(ctx, call) for call in questions)),
        )
        for call, outcome in zip(requests.approvals, approvals, strict=True):
            if outcome.approved:
                self._approved[_place(ctx, call)] = outcome
        asked = [*requests.approvals, *questions]
        outcomes = [*approvals, *answers]
        return requests.build_results(
            approvals={
                call.tool_call_id: _ruling(outcome) for call, outcome in zip(requests.approvals, approvals, strict=True)
            },
            calls={
                call.tool_call_id: calls.answer_text(outcome) for call, outcome in zip(questions, answers, strict=True)
            },
            answered_by={
                call.tool_call_id: outcome.by for call, outcome in zip(asked, outcomes, strict=True) if outcome.by
            },
        )

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any, result: Any
    ) -> Any:
        if outcome := self._approved.pop(_place(ctx, call), None):
            await calls.areport(self.desk, outcome, output=result)
        return result

    async def on_tool_execute_error(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any, error: Exception
    ) -> Any:
        if outcome := self._approved.pop(_place(ctx, call), None):
            await calls.areport(self.desk, outcome, error=error)
        raise error

    async def _approval(self, ctx: RunContext[Any], call: ToolCallPart, requests: DeferredToolRequests) -> Outcome:
        wanted = _call(ctx, call)
        asked: dict[str, Any] = {**wanted.approval()}
        if metadata := requests.metadata.get(call.tool_call_id):
            asked["context"] = metadata
        return await calls.await_human(self.desk, wanted.title, **{**asked, **self.asked})

    async def _answer(self, ctx: RunContext[Any], call: ToolCallPart) -> Outcome:
        wanted = _call(ctx, call)
        return await calls.await_human(self.desk, wanted.question_title, **{**wanted.question(), **self.asked})


def _call(ctx: RunContext[Any], call: ToolCallPart) -> ToolCall:
    agent = getattr(ctx.agent, "name", None) or ""
    return ToolCall(call.tool_name, call.tool_call_id, call.args_as_dict(), ctx.conversation_id or "", agent)


def _place(ctx: RunContext[Any], call: ToolCallPart) -> tuple[str, str]:
    return ctx.run_id or "", call.tool_call_id


def _ruling(outcome: Outcome) -> ToolApproved | ToolDenied:
    if not outcome.approved:
        return ToolDenied(calls.refusal(outcome))
    return ToolApproved(override_args=dict(outcome.input or {})) if outcome.edited else ToolApproved()
