"""What pydantic-ai does at a pause, without Pausepoint: `at_a_pause.py THREAD`."""

from __future__ import annotations

from typing import Any

import program
from pausing import CHANGED, WANTED, Condition, history, identity, ran, refund, sibling, tell, twice
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool, ToolApproved, ToolDenied
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    if any(isinstance(message, ModelResponse) for message in messages):
        return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart(name, args, f"call-{name}") for name, args in WANTED])


def agent(**tools: Any) -> Agent[None, Any]:
    return Agent(FunctionModel(model), output_type=[str, DeferredToolRequests], **tools)


def parts(result: Any, kind: type) -> dict[str, Any]:
    return {
        part.tool_name: part for message in result.all_messages() for part in message.parts if isinstance(part, kind)
    }


gated = agent(tools=[Tool(refund, requires_approval=True), Tool(program.drop, requires_approval=True), program.look])
first = gated.run_sync("go")
stored = first.all_messages_json()
seen = {"sibling": sibling()}
asked, again = (result.output.approvals[0].tool_call_id for result in (first, gated.run_sync("go")))
seen["id"] = identity(asked, again, "call-refund")


def resume(agent: Agent[None, Any], stored: bytes, **approvals: Any) -> Any:
    history = ModelMessagesTypeAdapter.validate_json(stored)
    answers = DeferredToolResults(approvals={f"call-{name}": answer for name, answer in approvals.items()})
    return agent.run_sync(message_history=history, deferred_tool_results=answers)


condition = Condition()
by_condition = agent(
    tools=[program.look],
    toolsets=[FunctionToolset([refund, program.drop]).approval_required(lambda *_: condition())],
)
conditional = by_condition.run_sync("go").all_messages_json()
before = condition.times
resume(by_condition, conditional, refund=ToolApproved(), drop=ToolDenied())
seen["condition"] = "again" if condition.times > before else "once"

ran()
try:
    resume(gated, stored, refund=ToolApproved())
except UserError:
    seen["partial"] = "refused" if not ran() else "runs"
else:
    seen["partial"] = "runs"

seen["resumers"] = twice(lambda: resume(gated, stored, refund=ToolApproved(), drop=ToolDenied()))
changed = resume(gated, stored, refund=ToolApproved(override_args=CHANGED), drop=ToolDenied())
seen["changed"] = history([parts(changed, ToolCallPart)["refund"].args])
seen["rejected"] = parts(changed, ToolReturnPart)["drop"].content
seen["words"] = parts(resume(gated, stored, refund=ToolDenied(), drop=ToolDenied("Not today.")), ToolReturnPart)[
    "drop"
].content
tell("pydantic-ai-slim", **seen, restart="messages")
