"""From steps and tool calls to what the browser shows (AI SDK UIMessage parts) and to what the model is shown.

Pure: both are rebuilt from stored rows, so that the message and the model's history can never disagree.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from approvals.runtime.canonical import clean_text
from chats.agent.provider import ModelMessage, context_block
from chats.states import CallState

NO_TEXT = "(The assistant ended its turn without a further word.)"
#: The part of a user's message that holds what the client's page sent along (a data part of the AI SDK's).
PAGE_CONTEXT = "data-page-context"
STOPPED = "(Stopped before anything more was said.)"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """A tool call with what people decided about it. `approval_id` is the request's id where it was asked for.

    `approved` is None while nobody has decided; `edited_input` is what a person changed the input to, else None.
    `declined` says that a person would not answer; `error_text` then holds their words.
    """

    tool_call_id: str
    name: str
    input: Any
    state: str
    output: Any = None
    error_text: str = ""
    approval_id: str = ""
    approved: bool | None = None
    reason: str = ""
    edited_input: Any = None
    declined: bool = False


@dataclass(frozen=True, slots=True)
class StepView:
    """A step's blocks as the model returned them, its calls, and who made it."""

    blocks: Sequence[dict[str, Any]]
    calls: Sequence[CallView] = field(default_factory=list)
    provider: str = ""
    model: str = ""


def message_parts(steps: Sequence[StepView], *, closing: str = "") -> list[dict[str, Any]]:
    """The parts of the assistant's message.

    `closing` is said where an ended turn has no text at its end: AI SDK clients send a message that ends with a tool's
    result again and again.
    """
    parts: list[dict[str, Any]] = []
    for step in steps:
        parts.append({"type": "step-start"})
        calls = {call.tool_call_id: call for call in step.calls}
        for block in step.blocks:
            parts += _block_parts(block, calls)
    last = parts[-1]["type"] if parts else ""
    if closing and last != "text":
        parts += [*([] if last == "step-start" else [{"type": "step-start"}]), _text(closing)]
    return parts


def _block_parts(block: dict[str, Any], calls: dict[str, CallView]) -> list[dict[str, Any]]:
    match block.get("type"):
        case "text" if block["text"]:
            return [_text(block["text"])]
        case "thinking" if block["thinking"]:
            return [{"type": "reasoning", "text": clean_text(block["thinking"]), "state": "done"}]
        case "tool_use" if block["id"] in calls:
            return [tool_part(calls[block["id"]])]
        case _:
            return []


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": clean_text(text), "state": "done"}


def tool_part(call: CallView) -> dict[str, Any]:
    """Return a call as the AI SDK's tool part."""
    part: dict[str, Any] = {"type": f"tool-{call.name}", "toolCallId": call.tool_call_id, "input": call.input}
    approval: dict[str, Any] = {"id": call.approval_id, "approved": call.approved}
    if call.reason:
        approval["reason"] = call.reason
    match call.state:
        case CallState.SUCCEEDED:
            part |= {"state": "output-available", "output": call.output}
        case CallState.FAILED | CallState.CANCELLED:
            part |= {"state": "output-error", "errorText": call.error_text}
        case CallState.DENIED:
            return part | {"state": "output-denied", "approval": approval | {"approved": False}}
        case CallState.WAITING if call.approval_id and call.approved is None:
            return part | {"state": "approval-requested", "approval": {"id": call.approval_id}}
        case _ if call.approved:
            part |= {"state": "approval-responded"}
        case _:
            part |= {"state": "input-available"}
    return part | ({"approval": approval} if call.approved else {})


def user_parts(texts: Iterable[str], context: Any = None) -> list[dict[str, Any]]:
    """The parts of a user's message; `context` is what their page sent along, None for nothing."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    return parts if context is None else [*parts, {"type": PAGE_CONTEXT, "data": context}]


def user_message(parts: Iterable[dict[str, Any]], *, current: bool) -> ModelMessage:
    """A user's message as the model is shown it; what their page showed only while it is `current`."""
    parts = list(parts)
    told = [context_block(part["data"]) for part in parts if part.get("type") == PAGE_CONTEXT and current]
    said = [{"type": "text", "text": part["text"]} for part in parts if part.get("type") == "text"]
    return ModelMessage("user", [*told, *said])


def model_messages(steps: Iterable[StepView]) -> list[ModelMessage]:
    """The assistant's steps with their results, as the model is shown them: every call is followed by its result."""
    messages: list[ModelMessage] = []
    for step in steps:
        blocks = [block for block in step.blocks if block.get("type") != "text" or block["text"].strip()]
        messages.append(
            ModelMessage("assistant", blocks or [{"type": "text", "text": NO_TEXT}], step.provider, step.model)
        )
        if step.calls:
            messages.append(ModelMessage("user", [_result(call) for call in step.calls]))
    return messages


def _result(call: CallView) -> dict[str, Any]:
    content, is_error = _result_text(call)
    result = {"type": "tool_result", "tool_use_id": call.tool_call_id, "content": content}
    return result | ({"is_error": True} if is_error else {})


def _result_text(call: CallView) -> tuple[str, bool]:
    match call.state:
        case CallState.SUCCEEDED:
            text = call.output if isinstance(call.output, str) else json.dumps(call.output, ensure_ascii=False)
            return _told_of_edit(call) + text, False
        case CallState.FAILED if call.declined:
            return f"The person declined to answer. Their words: {call.error_text}", True
        case CallState.FAILED | CallState.CANCELLED:
            return _told_of_edit(call) + call.error_text, True
        case CallState.DENIED:
            why = f" Their reason: {call.reason}" if call.reason else ""
            return f"A person decided against this call. It was not run; do not try it again.{why}", False
        case _:
            return "This call has no result: it was not finished.", True


def _told_of_edit(call: CallView) -> str:
    if call.edited_input is None:
        return ""
    edited = json.dumps(call.edited_input, ensure_ascii=False)
    return f"(A person changed the input before approving it. It ran with: {edited})\n"
