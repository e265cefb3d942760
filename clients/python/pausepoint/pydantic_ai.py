"""pydantic-ai: answers deferred tool calls with people's decisions, in the run that waits for them.

    agent = Agent(model, tools=..., capabilities=[HandleDeferredToolCalls(desk)])

It asks about tools with `requires_approval=True` or `ApprovalRequired`, and asks people the questions of
`CallDeferred(kind="question")`. `ask_and_store` keeps a run that ended with deferred requests at Pausepoint, and
`resume_from_desk` continues it, once, in any process. Install with `pip install "pausepoint[pydantic-ai]"`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import Agent, AgentRunResult
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    SkipToolExecution,
    ToolFailed,
    UserError,
)
from pydantic_ai.messages import ModelMessagesTypeAdapter, ToolCallPart, ToolReturn
from pydantic_ai.tools import (
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDefinition,
    ToolDenied,
)
from pydantic_ai.toolsets import FunctionToolset

from pausepoint import calls, durable, gate
from pausepoint.calls import ToolCall
from pausepoint.desk import LEASE, AsyncDesk, Outcome
from pausepoint.durable import NotYet, Resumption, StoredRun
from pausepoint.gate import AnyDesk, Ruling, Wanted

REQUESTS: TypeAdapter[DeferredToolRequests] = TypeAdapter(DeferredToolRequests)


class _RunsOnce(AbstractCapability[Any]):
    """Runs approved calls once, reports their results, and returns known results instead of running again."""

    def __init__(self, desk: AnyDesk) -> None:
        self.desk = desk
        #: Approved calls that have not run yet, by run and call; an empty run means any.
        self._approved: dict[tuple[str, str], Ruling] = {}
        #: The schemas of the tools of the last step, by name.
        self.schemas: dict[str, dict[str, Any]] = {}

    def approve(self, run_id: str, call_id: str, outcome: Outcome) -> None:
        self._approved[run_id, call_id] = Ruling(outcome, question=False)

    async def claimed(self, ruling: Ruling) -> Ruling:
        """Return the ruling when the call may run now. Calls of a stored run may, because the lease of the run is held."""
        return ruling

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        self.schemas = {each.name: each.parameters_json_schema for each in tool_defs}
        return tool_defs

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: Any,
        handler: Any,
    ) -> Any:
        ruling = self._ruling_of(ctx, call)
        if ruling is None:
            return await handler(args)
        ruling = await self.claimed(ruling)
        if not ruling.runs:
            if not ruling.succeeded:
                raise ToolFailed(ruling.text)
            return _noted(ruling.output, ruling)
        if ruling.earlier and ruling.outcome.edited:
            # `args` are values of the tool's own types, which cannot be created here.
            await gate.arelease(self.desk, ruling)
            raise ToolFailed(
                f"{ruling.note} It was not run. Make the call again with exactly this input."
            )
        try:
            result = await handler(args)
        except (ApprovalRequired, CallDeferred, SkipToolExecution):
            # Not an error: the call has no result yet.
            await gate.arelease(self.desk, ruling)
            raise
        except BaseException as error:
            await gate.aended(self.desk, ruling, error=error)
            raise
        await gate.aended(self.desk, ruling, output=_value(result))
        return _noted(result, ruling)

    def _ruling_of(self, ctx: RunContext[Any], call: ToolCallPart) -> Ruling | None:
        of_run = self._approved.pop((ctx.run_id or "", call.tool_call_id), None)
        return of_run or self._approved.pop(("", call.tool_call_id), None)


def _value(result: Any) -> Any:
    return result.return_value if isinstance(result, ToolReturn) else result


def _noted(result: Any, ruling: Ruling) -> Any:
    """Return the result of a call with the note for the model: appended to a text, otherwise beside it."""
    if not ruling.note or (
        isinstance(result, ToolReturn) and result.content is not None
    ):
        return result
    if isinstance(result, str):
        return ruling.noted(result)
    return ToolReturn(
        _value(result), content=ruling.note, metadata=getattr(result, "metadata", None)
    )


class HandleDeferredToolCalls(_RunsOnce):
    """Asks about all deferred calls of a step at once, and reports the results of those that ran. A call whose result was
    reported in an earlier run does not run again: the model gets that result.

    Calls of the kind `external` are left to others. `extra` are additional fields of each request, such as `priority`.
    """

    def __init__(self, desk: AnyDesk, **extra: Any) -> None:
        super().__init__(desk)
        self.extra = extra

    async def claimed(self, ruling: Ruling) -> Ruling:
        return await gate.aclaimed(self.desk, ruling, self.extra)

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        gated = [each.name for each in tool_defs if each.kind == "unapproved"]
        if gated and _in_run_stream():
            raise UserError(
                f"run_stream ends with the first call that needs an approval, so no one can be asked about "
                f"{', '.join(gated)}. Use run, run_stream_events or iter."
            )
        return await super().prepare_tools(ctx, tool_defs)

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: Any, response: Any
    ) -> Any:
        """Take the result out of a message with gated calls: pydantic-ai would end with it, and drop the calls unasked."""
        tools = request_context.model_request_parameters.tool_defs
        kinds = {name: tool.kind for name, tool in tools.items()}
        called = {kinds.get(call.tool_name) for call in response.tool_calls}
        if "unapproved" not in called:
            return response
        parts = [
            part
            for part in response.parts
            if kinds.get(getattr(part, "tool_name", "")) != "output"
        ]
        return replace(response, parts=parts)

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        questions = [
            call
            for call in requests.calls
            if requests.kind(call.tool_call_id) == "question"
        ]
        if not requests.approvals and not questions:
            return None
        approvals, answers = await asyncio.gather(
            asyncio.gather(
                *(self._approval(ctx, call, requests) for call in requests.approvals)
            ),
            asyncio.gather(*(self._answer(ctx, call) for call in questions)),
        )
        for call, outcome in zip(requests.approvals, approvals, strict=True):
            if outcome.approved:
                self.approve(ctx.run_id or "", call.tool_call_id, outcome)
        call_ids = [call.tool_call_id for call in [*requests.approvals, *questions]]
        return _results(
            requests, dict(zip(call_ids, [*approvals, *answers], strict=True))
        )

    async def _approval(
        self, ctx: RunContext[Any], call: ToolCallPart, requests: DeferredToolRequests
    ) -> Outcome:
        wanted = _wanted(_call(ctx, call), requests, self.extra, self.schemas)
        return (await gate.adecided(self.desk, wanted)).outcome

    async def _answer(self, ctx: RunContext[Any], call: ToolCallPart) -> Outcome:
        return (
            await gate.adecided(
                self.desk, Wanted(_call(ctx, call), question=True, extra=self.extra)
            )
        ).outcome


def _in_run_stream() -> bool:
    """Return whether this is a run of `run_stream`, which hooks cannot tell."""
    frame = sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        if frame.f_code.co_name == "run_stream" and frame.f_globals.get(
            "__name__", ""
        ).startswith("pydantic_ai."):
            return True
    return False


async def ask_and_store(
    result: AgentRunResult[Any],
    desk: AsyncDesk,
    *,
    agent: Agent[Any, Any] | None = None,
    conversation_id: str = "",
    asked: Mapping[str, Any] | None = None,
) -> Resumption:
    """Ask people about all deferred calls with which a run ended, and keep the run at Pausepoint; return without waiting.

    The output of the run is `DeferredToolRequests`. The process may end then; `resume_from_desk` continues the run. With the
    `agent`, people edit the input of its own tools in a form that validates it.
    """
    return await _store(
        result, desk, conversation_id, asked or {}, "", _schemas(agent) if agent else {}
    )


def _schemas(agent: Agent[Any, Any]) -> dict[str, dict[str, Any]]:
    """Return the schemas of an agent's function tools, by name."""
    toolsets = [
        toolset for toolset in agent.toolsets if isinstance(toolset, FunctionToolset)
    ]
    return {
        name: tool.tool_def.parameters_json_schema
        for each in toolsets
        for name, tool in each.tools.items()
    }


async def resume_from_desk(
    agent: Agent[Any, Any],
    desk: AsyncDesk,
    request_id: str,
    *,
    by: str = "",
    lease: int = LEASE,
    asked: Mapping[str, Any] | None = None,
    external: Mapping[str, Any] | None = None,
    **run: Any,
) -> Resumption:
    """Continue the run that waits for this request, if people have decided all its requests and no other process was faster. If
    it ends with deferred calls again, it is stored again and people are asked, with the fields `asked`.

    `external` are the results of deferred calls that are not for people, by id. A call whose result was reported by an earlier
    attempt does not run again: the model is told the result.
    """
    try:
        async with durable.stored_run(desk, request_id, by=by, lease=lease) as stored:
            return await _resumed(agent, desk, stored, asked or {}, external or {}, run)
    except NotYet as reason:
        return reason.resumption


async def _resumed(
    agent: Agent[Any, Any],
    desk: AsyncDesk,
    stored: StoredRun,
    extra: Mapping[str, Any],
    external: Mapping[str, Any],
    run: dict[str, Any],
) -> Resumption:
    requests = REQUESTS.validate_python(stored.run["requests"])
    results = _results(requests, stored.outcomes)
    results.calls.update(external)
    once = _RunsOnce(desk)
    for call_id, outcome in stored.outcomes.items():
        if outcome.approved:
            once.approve("", call_id, outcome)
    result = await agent.run(
        message_history=ModelMessagesTypeAdapter.validate_python(
            stored.run["messages"]
        ),
        deferred_tool_results=results,
        capabilities=[*run.pop("capabilities", ()), once],
        **({"conversation_id": stored.thread_id} if stored.thread_id else {}),
        **run,
    )
    if isinstance(result.output, DeferredToolRequests):
        waiting = await _store(
            result, desk, stored.thread_id, extra, stored.workflow_id, once.schemas
        )
        return Resumption("waiting", result, waiting.requests)
    await durable.end_workflow(desk, stored.workflow_id)
    return Resumption("finished", result)


async def _store(
    result: AgentRunResult[Any],
    desk: AsyncDesk,
    thread: str,
    extra: Mapping[str, Any],
    workflow_id: str,
    schemas: Mapping[str, dict[str, Any]],
) -> Resumption:
    requests = result.output
    if not isinstance(requests, DeferredToolRequests):
        raise TypeError(
            "The run did not end with DeferredToolRequests: add it to the output_type of the agent."
        )
    questions = [
        call
        for call in requests.calls
        if requests.kind(call.tool_call_id) == "question"
    ]
    wanted = [
        *(
            _wanted(_part(call, thread), requests, extra, schemas)
            for call in requests.approvals
        ),
        *(
            Wanted(_part(call, thread), question=True, extra=extra)
            for call in questions
        ),
    ]
    if not wanted:
        raise ValueError("The run waits for nothing that people can answer.")
    run = {
        "messages": ModelMessagesTypeAdapter.dump_python(
            result.all_messages(), mode="json"
        ),
        "requests": REQUESTS.dump_python(requests, mode="json"),
    }
    return await durable.store(desk, wanted, run, workflow_id=workflow_id)


def _wanted(
    call: ToolCall,
    requests: DeferredToolRequests,
    extra: Mapping[str, Any],
    schemas: Mapping[str, dict[str, Any]],
) -> Wanted:
    """Return a request for approval with the tool's metadata."""
    metadata = requests.metadata.get(call.id)
    context = {"context": metadata} if metadata else {}
    return Wanted(
        call, question=False, extra={**context, **extra}, schema=schemas.get(call.name)
    )


def _results(
    requests: DeferredToolRequests, outcomes: Mapping[str, Outcome]
) -> DeferredToolResults:
    """Return people's decisions."""
    return requests.build_results(
        approvals={
            call.tool_call_id: _ruling(outcomes[call.tool_call_id])
            for call in requests.approvals
        },
        calls={
            call.tool_call_id: calls.answer_text(outcomes[call.tool_call_id])
            for call in requests.calls
            if call.tool_call_id in outcomes
        },
        answered_by={
            call_id: outcome.by for call_id, outcome in outcomes.items() if outcome.by
        },
    )


def _part(call: ToolCallPart, thread: str) -> ToolCall:
    return ToolCall(call.tool_name, call.tool_call_id, call.args_as_dict(), thread)


def _call(ctx: RunContext[Any], call: ToolCallPart) -> ToolCall:
    agent = getattr(ctx.agent, "name", None) or ""
    return ToolCall(
        call.tool_name,
        call.tool_call_id,
        call.args_as_dict(),
        ctx.conversation_id or "",
        agent,
    )


def _ruling(outcome: Outcome) -> ToolApproved | ToolDenied:
    if not outcome.approved:
        return ToolDenied(calls.refusal(outcome))
    return (
        ToolApproved(override_args=dict(outcome.input or {}))
        if outcome.edited
        else ToolApproved()
    )
