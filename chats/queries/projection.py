"""Project steps and tool calls onto the message that browsers show (AI SDK UIMessage parts) and onto the model's history.

Pure. Both are rebuilt from the same stored rows, so they cannot disagree.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from approvals.db.canonical_json import clean_text
from approvals.text.file_references import FileReference, references_in
from chats.agent.files import in_words
from chats.agent.provider import ModelMessage, context_block
from chats.checkpoints import canonical_part
from chats.queries.file_parts import block_of_part, file_block, result_file_id
from chats.queries.remarks import (
    BROKEN_OFF,
    FILES_LEFT_OUT,
    REFUSAL,
    REMARK,
    remark_part,
)
from chats.queries.sources import SERVER_TOOL, SOURCE_DOCUMENT, SOURCE_URL, has_citations, source_parts
from chats.queries.values import CallView, StepView
from chats.states import CallState

#: The types of parts that are shown beside the words of an answer.
BESIDE = frozenset({REMARK, SERVER_TOOL, SOURCE_DOCUMENT, SOURCE_URL})
NO_TEXT = "(The agent ended its turn without saying anything more.)"
#: The type of the data part (AI SDK) of a user's message that holds what their page sent along.
PAGE_CONTEXT = "data-page-context"
STOPPED = "(Stopped before anything more was said.)"
#: What a message says in place of NO_TEXT if its last answer ended like this, for clients that show only texts.
CLOSINGS = {
    REFUSAL: "(The model refused to answer.)",
    "max_tokens": "(The answer was cut off before its first word.)",
    "model_context_window_exceeded": "(The answer was cut off before its first word.)",
}
#: The same where the message has a text before a call that was cut off.
CLOSINGS_AFTER_WORDS = {
    REFUSAL: "(The model refused to go on.)",
    "max_tokens": "(The answer was cut off here.)",
    "model_context_window_exceeded": "(The answer was cut off here.)",
}
#: Follows, for the model, the words of an answer that it could not finish.
CUT_BY_ERROR = "(An error interrupted this answer here.)"
#: Stands, for the model, in place of a refused turn that had run tools.
REFUSED_TURN = "(A message that was refused is left out here. These tools were called for it: %s.)"


def message_parts(steps: Sequence[StepView], *, closing: str = "") -> list[dict[str, Any]]:
    """Return the parts of the assistant's message.

    `closing` is added as the last text if an ended turn has none, because AI SDK clients keep resending a message that ends
    with a tool result.
    """
    parts = [part for step in steps for part in step.once("parts", _step_parts)]
    return [*parts, *(closing_parts(steps, parts, closing) if closing else [])]


def canonical_parts(steps: Sequence[StepView]) -> list[bytes]:
    """Return the canonical form of each part of the message before its closing text. Raises NotCanonical."""
    return [form for step in steps for form in step.once("canonical parts", _canonical_step_parts)]


def _canonical_step_parts(step: StepView) -> list[bytes]:
    return list(map(canonical_part, step.once("parts", _step_parts)))


def _step_parts(step: StepView) -> list[dict[str, Any]]:
    if not step.is_shown:
        return []
    parts: list[dict[str, Any]] = [{"type": "step-start"}]
    calls = {call.tool_call_id: call for call in step.calls}
    for block in _joined(step.blocks):
        parts += _block_parts(block, calls)
    return [*parts, *source_parts(step.blocks), *(remark_part(remark) for remark in step.remarks)]


def _joined(blocks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return blocks with the passages of a text that cites sources as one text again."""
    if not has_citations(blocks):
        return list(blocks)
    joined: list[dict[str, Any]] = []
    for block in blocks:
        if block.get("type") == "text" and joined and joined[-1].get("type") == "text":
            joined[-1] = {"type": "text", "text": joined[-1]["text"] + block["text"]}
        else:
            joined.append(block)
    return joined


def closing_parts(steps: Sequence[StepView], parts: Sequence[Mapping[str, Any]], closing: str) -> list[dict[str, Any]]:
    """Return the parts that close the message of an ended turn: none if it ends with a text and remarks about it."""
    last = next((str(part["type"]) for part in reversed(parts) if part["type"] not in BESIDE), "")
    if last == "text":
        return []
    began = any(part["type"] == "text" for part in parts)
    text = (CLOSINGS_AFTER_WORDS if began else CLOSINGS).get(steps[-1].stop_reason, closing) if steps else closing
    return [*([] if last == "step-start" else [{"type": "step-start"}]), _text(text)]


def _block_parts(block: dict[str, Any], calls: dict[str, CallView]) -> list[dict[str, Any]]:
    match block.get("type"):
        case "text" if block["text"]:
            return [_text(block["text"])]
        case "thinking" if block["thinking"]:
            return [{"type": "reasoning", "text": clean_text(block["thinking"]), "state": "done"}]
        case "compaction" if block.get("content"):
            # A summary of what is long ago, which takes its place for the model; people read it like a thought.
            return [{"type": "reasoning", "text": clean_text(str(block["content"])), "state": "done"}]
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


def result_files(call: CallView) -> list[FileReference]:
    """Return the files that a call returned. Any other reference in its output is only repeated there."""
    references = references_in(call.output) if call.state == CallState.SUCCEEDED else []
    return [each for each in references if each.file_id == result_file_id(call.tool_call_id, each.digest)]


def result_file_ids(steps: Iterable[StepView]) -> list[uuid.UUID]:
    """Return the ids of the files that the calls of these steps returned."""
    return [file.file_id for step in steps for call in step.calls for file in result_files(call)]


def text_with_files(parts: Iterable[Mapping[str, Any]]) -> str:
    """Return what a message says as one text, with the names of its files in brackets."""
    texts = [part["text"] for part in parts if part.get("type") == "text" and part.get("text")]
    files = [f"[{part.get('filename') or part.get('mediaType')}]" for part in parts if part.get("type") == "file"]
    return "\n\n".join([*files, *texts])


def user_parts(texts: Iterable[str], context: Any = None, files: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    """Return the parts of a user's message; `context` is what their page sent along, or None."""
    parts: list[dict[str, Any]] = [*files, *({"type": "text", "text": text} for text in texts)]
    return parts if context is None else [*parts, {"type": PAGE_CONTEXT, "data": context}]


def user_message(parts: Iterable[dict[str, Any]], files: Mapping[uuid.UUID, bytes] | None = None) -> ModelMessage:
    """Return a user's message as the model is shown it; `files` are the contents of stored files.

    The page's context stays in it for ever: the history only grows, because thoughts and cached prompts depend on all that
    was sent before them.
    """
    parts = list(parts)
    sent = [block_of_part(part, files or {}) for part in parts if part.get("type") == "file"]
    context = [context_block(part["data"]) for part in parts if part.get("type") == PAGE_CONTEXT]
    # Clients send an empty text beside a file, and models refuse it.
    texts = [part["text"] for part in parts if part.get("type") == "text" and part["text"].strip()]
    return ModelMessage("user", [*context, *sent, *({"type": "text", "text": text} for text in texts)])


def answered(
    before: Sequence[ModelMessage], steps: Iterable[StepView], files: Mapping[uuid.UUID, bytes] | None = None
) -> list[ModelMessage]:
    """Return a conversation with the assistant's steps as the model is shown them: calls are followed by their results.

    `files` are the contents of stored files. Those that the model of a step did not take are left out from there on: of the
    message before it, or all so far.
    """
    messages = list(before)
    for step in steps:
        left_out = step.stop_details.get(FILES_LEFT_OUT)
        if isinstance(left_out, Mapping) and messages:
            first = 0 if left_out.get("all") else len(messages) - 1
            messages[first:] = map(in_words, messages[first:])
        messages += _step_messages(step, files) if files else step.once("messages", _step_messages)
    return messages


def _step_messages(step: StepView, files: Mapping[uuid.UUID, bytes] | None = None) -> list[ModelMessage]:
    if not step.is_shown:
        return []
    blocks = [block for block in step.blocks if block.get("type") != "text" or block["text"].strip()]
    # A call without a result would be refused, such as one before another model took over.
    made = {call.tool_call_id for call in step.calls}
    blocks = [block for block in blocks if block.get("type") != "tool_use" or block["id"] in made]
    if step.stop_reason == BROKEN_OFF:
        blocks.append({"type": "text", "text": CUT_BY_ERROR})
    content = blocks or [{"type": "text", "text": NO_TEXT}]
    answer = ModelMessage("assistant", content, step.provider, step.model, step.prefix, step.container)
    results = [ModelMessage("user", [_result(call, files or {}) for call in step.calls])] if step.calls else []
    return [answer, *results]


def with_turn(
    before: Sequence[ModelMessage],
    question: ModelMessage | None,
    steps: Sequence[StepView],
    files: Mapping[uuid.UUID, bytes] | None = None,
) -> list[ModelMessage]:
    """Return a conversation with an ended turn; of a refused one only that its tools were called, if any were.

    The API refuses every later message too while a refused one and its answer are in the history.
    """
    if not steps or steps[-1].stop_reason != REFUSAL:
        return answered([*before, *([] if question is None else [question])], steps, files)
    called = ", ".join(f"{call.name} ({call.state})" for step in steps[:-1] for call in step.calls)
    return [*before, *([ModelMessage("user", [{"type": "text", "text": REFUSED_TURN % called}])] if called else [])]


def _result(call: CallView, files: Mapping[uuid.UUID, bytes]) -> dict[str, Any]:
    text, is_error = _result_text(call)
    blocks = [file_block(file, files) for file in result_files(call)]
    content = [{"type": "text", "text": text}, *blocks] if blocks else text
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
        case CallState.DENIED if call.by_rule:
            return f"The policy denies this call. It was not run; do not try it again. {call.reason}", False
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
