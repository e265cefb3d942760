"""Project steps and tool calls onto the message that browsers show (AI SDK UIMessage parts) and onto the model's history.

Pure. Both are rebuilt from the same stored rows, so they cannot disagree.
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
#: The type of the data part (AI SDK) of a user's message that holds what their page sent along.
PAGE_CONTEXT = "data-page-context"
STOPPED = "(Stopped before anything more was said.)"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """A tool call with the decision about it. `approval_id` is the id of its approval request, or "".

    `approved` is None until somebody decides; `edited_input` is the input as a person changed it, or None. `declined` means
    that a person declined to answer; `error_text` then holds their comment.
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
    """A step: the blocks as the model returned them, its calls, and the provider and model that made it."""

    blocks: Sequence[dict[str, Any]]
    calls: Sequence[CallView] = field(default_factory=list)
    provider: str = ""
    model: str = ""


def message_parts(steps: Sequence[StepView], *, closing: str = "") -> list[dict[str, Any]]:
    """Return the parts of the assistant's message.

    `closing` is added as the last text if an ended turn has none, because AI SDK clients keep resending a message that ends
    with a tool result.
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
    """Return the parts of a user's message; `context` is what their page sent along, or None."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    return parts if context is None else [*parts, {"type": PAGE_CONTEXT, "data": context}]


def user_message(parts: Iterable[dict[str, Any]], *, current: bool) -> ModelMessage:
    """Return a user's message as the model is shown it; with the page's context only if it is the `current` one."""
    parts = list(parts)
    context = [context_block(part["data"]) for part in parts if part.get("type") == PAGE_CONTEXT and current]
    texts = [{"type": "text", "text": part["text"]} for part in parts if part.get("type") == "text"]
    return ModelMessage("user", [*context, *texts])


def model_messages(steps: Iterable[StepView]) -> list[ModelMessage]:
    """Return the assistant's steps as the model is shown them: each message with calls is followed by their results."""
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
            return _note_of_edit(call) + text, False
        case CallState.FAILED if call.declined:
            return f"The person declined to answer. Their words: {call.error_text}", True
        case CallState.FAILED | CallState.CANCELLED:
            return _note_of_edit(call) + call.error_text, True
        case CallState.DENIED:
            why = f" Their reason: {call.reason}" if call.reason else ""
            return f"A person decided against this call. It was not run; do not try it again.{why}", False
        case _:
            return "This call has no result: it was not finished.", True


def _note_of_edit(call: CallView) -> str:
    if call.edited_input is None:
        return ""
    edited = json.dumps(call.edited_input, ensure_ascii=False)
    return f"(A person changed the input before approving it. It ran with: {edited})\n"
