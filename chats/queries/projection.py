"""Project steps and tool calls onto the message for browsers: parts of a UIMessage of the AI SDK. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from approvals.db.canonical_json import clean_text
from approvals.json_types import JsonDict, JsonMapping
from approvals.text.file_references import FileReference, references_in
from chats.checkpoints import canonical_part
from chats.queries.file_parts import result_file_id
from chats.queries.sources import (
    SERVER_TOOL,
    SOURCE_DOCUMENT,
    SOURCE_URL,
    has_citations,
    source_parts,
)
from chats.queries.values import REFUSAL, REMARK, CallView, StepView, remark_part
from chats.states import CallState

#: The types of parts that are shown beside the text of an answer.
BESIDE = frozenset({REMARK, SERVER_TOOL, SOURCE_DOCUMENT, SOURCE_URL})
NO_TEXT = "(The agent ended its turn without saying anything more.)"
#: The type of the data part (AI SDK) of a user's message with the context sent by their page.
PAGE_CONTEXT = "data-page-context"
STOPPED = "(Stopped before anything more was said.)"
#: Texts in place of NO_TEXT if the last answer ended like this, for clients that show only texts.
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


def message_parts(steps: Sequence[StepView], *, closing: str = "") -> list[JsonDict]:
    """Return the parts of the assistant's message.

    `closing` is added as the last text if an ended turn has none, because AI SDK clients keep resending a message that ends with
    a tool result.
    """
    parts = [part for step in steps for part in step.once("parts", _step_parts)]
    return [*parts, *(closing_parts(steps, parts, closing) if closing else [])]


def shown_calls(steps: Sequence[StepView]) -> dict[str, JsonDict]:
    """Return the tool parts of the message by toolCallId."""
    shown: dict[str, JsonDict] = {}
    for step in steps:
        shown.update(step.once("calls", _calls_of_step))
    return shown


def _calls_of_step(step: StepView) -> dict[str, JsonDict]:
    parts = step.once("parts", _step_parts)
    return {part["toolCallId"]: part for part in parts if "toolCallId" in part}


def canonical_parts(steps: Sequence[StepView]) -> list[bytes]:
    """Return the canonical form of each part of the message before its closing text. Raise NotCanonical."""
    return [
        form
        for step in steps
        for form in step.once("canonical parts", _canonical_step_parts)
    ]


def _canonical_step_parts(step: StepView) -> list[bytes]:
    return list(map(canonical_part, step.once("parts", _step_parts)))


def _step_parts(step: StepView) -> list[JsonDict]:
    if not step.is_shown:
        return []
    parts: list[JsonDict] = [{"type": "step-start"}]
    calls = {call.tool_call_id: call for call in step.calls}
    for block in _joined(step.blocks):
        parts += _block_parts(block, calls)
    return [
        *parts,
        *source_parts(step.blocks),
        *(remark_part(remark) for remark in step.remarks),
    ]


def _joined(blocks: Sequence[JsonDict]) -> list[JsonDict]:
    """Return blocks with the passages of a text that cites sources joined into one text."""
    if not has_citations(blocks):
        return list(blocks)
    joined: list[JsonDict] = []
    for block in blocks:
        if block.get("type") == "text" and joined and joined[-1].get("type") == "text":
            joined[-1] = {"type": "text", "text": joined[-1]["text"] + block["text"]}
        else:
            joined.append(block)
    return joined


def closing_parts(
    steps: Sequence[StepView], parts: Sequence[JsonMapping], closing: str
) -> list[JsonDict]:
    """Return the parts that close the message of an ended turn: none if it ends with a text and remarks about it."""
    last = next(
        (str(part["type"]) for part in reversed(parts) if part["type"] not in BESIDE),
        "",
    )
    if last == "text":
        return []
    began = any(part["type"] == "text" for part in parts)
    closings = CLOSINGS_AFTER_WORDS if began else CLOSINGS
    text = closings.get(steps[-1].stop_reason, closing) if steps else closing
    return [*([] if last == "step-start" else [{"type": "step-start"}]), _text(text)]


def _block_parts(block: JsonDict, calls: dict[str, CallView]) -> list[JsonDict]:
    match block.get("type"):
        case "text" if block["text"]:
            return [_text(block["text"])]
        case "thinking" if block["thinking"]:
            return [
                {
                    "type": "reasoning",
                    "text": clean_text(block["thinking"]),
                    "state": "done",
                }
            ]
        case "compaction" if block.get("content"):
            # A summary of old messages, which replaces them for the model; people read it like a thought.
            return [
                {
                    "type": "reasoning",
                    "text": clean_text(str(block["content"])),
                    "state": "done",
                }
            ]
        case "tool_use" if block["id"] in calls:
            return [tool_part(calls[block["id"]])]
        case _:
            return []


def _text(text: str) -> JsonDict:
    return {"type": "text", "text": clean_text(text), "state": "done"}


def tool_part(call: CallView) -> JsonDict:
    """Return a call as the AI SDK's tool part."""
    part: JsonDict = {
        "type": f"tool-{call.name}",
        "toolCallId": call.tool_call_id,
        "input": call.input,
    }
    approval: JsonDict = {"id": call.approval_id, "approved": call.approved}
    if call.reason:
        approval["reason"] = call.reason
    match call.state:
        case CallState.SUCCEEDED:
            part |= {"state": "output-available", "output": call.output}
        case CallState.FAILED | CallState.CANCELLED:
            part |= {"state": "output-error", "errorText": call.error_text}
        case CallState.DENIED:
            return part | {
                "state": "output-denied",
                "approval": approval | {"approved": False},
            }
        case CallState.WAITING if call.approval_id and call.approved is None:
            return part | {
                "state": "approval-requested",
                "approval": {"id": call.approval_id},
            }
        case _ if call.approved:
            part |= {"state": "approval-responded"}
        case _:
            part |= {"state": "input-available"}
    return part | ({"approval": approval} if call.approved else {})


def result_files(call: CallView) -> list[FileReference]:
    """Return the files that a call returned. Other references in its output are only repetitions."""
    references = references_in(call.output) if call.state == CallState.SUCCEEDED else []
    return [
        each
        for each in references
        if each.file_id == result_file_id(call.tool_call_id, each.digest)
    ]


def result_file_ids(steps: Iterable[StepView]) -> list[uuid.UUID]:
    """Return the ids of the files that the calls of these steps returned."""
    return [
        file.file_id
        for step in steps
        for call in step.calls
        for file in result_files(call)
    ]


def text_with_files(parts: Iterable[JsonMapping]) -> str:
    """Return a message's texts as one text, with the names of its files in brackets."""
    texts = [
        part["text"]
        for part in parts
        if part.get("type") == "text" and part.get("text")
    ]
    files = [
        f"[{part.get('filename') or part.get('mediaType')}]"
        for part in parts
        if part.get("type") == "file"
    ]
    return "\n\n".join([*files, *texts])


def last_words(steps: Sequence[StepView], characters: int) -> str:
    """Return the text of the last steps: more than so many characters, or else the whole text of the message."""
    texts: list[str] = []
    left = characters
    for step in reversed(steps):
        if left < 0:
            break
        if text := text_with_files(step.once("parts", _step_parts)):
            texts.insert(0, text)
            left -= len(text.strip())
    return "\n\n".join(texts)


def user_parts(
    texts: Iterable[str], context: Any = None, files: Sequence[JsonDict] = ()
) -> list[JsonDict]:
    """Return the parts of a user's message; `context` was sent by their page, or is None."""
    parts: list[JsonDict] = [
        *files,
        *({"type": "text", "text": text} for text in texts),
    ]
    return (
        parts if context is None else [*parts, {"type": PAGE_CONTEXT, "data": context}]
    )
