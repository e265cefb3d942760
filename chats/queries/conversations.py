"""Project messages, steps and tool calls onto the form of the model: a conversation.

Pure. The message for browsers (`projection`) is made from the same stored rows, so that the two cannot disagree.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence

from approvals.json_types import JsonDict
from chats.agent.files import in_words
from chats.agent.provider import ModelMessage, context_block
from chats.queries.file_parts import block_of_part, file_block
from chats.queries.projection import NO_TEXT, PAGE_CONTEXT, result_files
from chats.queries.values import BROKEN_OFF, FILES_LEFT_OUT, REFUSAL, CallView, StepView
from chats.states import CallState

#: For the model, follows the text of an unfinished answer.
CUT_BY_ERROR = "(An error interrupted this answer here.)"
#: For the model, stands before the result of a call whose input a person has changed.
EDITED = "(A person changed the input before approving it. It ran with: %s)\n"
#: For the model, stands in place of a refused turn that had run tools.
REFUSED_TURN = (
    "(A message that was refused is left out here. These tools were called for it: %s.)"
)


def user_message(
    parts: Iterable[JsonDict], files: Mapping[uuid.UUID, bytes] | None = None
) -> ModelMessage:
    """Return a user's message in the model's form; `files` are the contents of stored files.

    The page's context stays in it for ever: the history only grows, because thoughts and cached prompts depend on everything
    sent before them.
    """
    parts = list(parts)
    sent = [
        block_of_part(part, files or {}) for part in parts if part.get("type") == "file"
    ]
    context = [
        context_block(part["data"])
        for part in parts
        if part.get("type") == PAGE_CONTEXT
    ]
    # Clients send an empty text beside a file, and models refuse it.
    texts = [
        part["text"]
        for part in parts
        if part.get("type") == "text" and part["text"].strip()
    ]
    return ModelMessage(
        "user", [*context, *sent, *({"type": "text", "text": text} for text in texts)]
    )


def answered(
    before: Sequence[ModelMessage],
    steps: Iterable[StepView],
    files: Mapping[uuid.UUID, bytes] | None = None,
) -> list[ModelMessage]:
    """Return a conversation with the assistant's steps in the model's form: calls are followed by their results.

    `files` are the contents of stored files. Files that the model of a step did not accept are left out from there on: those of
    the message before it, or all so far.
    """
    messages = list(before)
    for step in steps:
        left_out = step.stop_details.get(FILES_LEFT_OUT)
        if left_out is not None and isinstance(left_out, Mapping) and messages:
            first = 0 if left_out.get("all") else len(messages) - 1
            messages[first:] = map(in_words, messages[first:])
        messages += (
            _step_messages(step, files)
            if files
            else step.once("messages", _step_messages)
        )
    return messages


def _step_messages(
    step: StepView, files: Mapping[uuid.UUID, bytes] | None = None
) -> list[ModelMessage]:
    if not step.is_shown:
        return []
    blocks = [
        block
        for block in step.blocks
        if block.get("type") != "text" or block["text"].strip()
    ]
    # A call without a result would be refused, such as one before another model took over.
    made = {call.tool_call_id for call in step.calls}
    blocks = [
        block
        for block in blocks
        if block.get("type") != "tool_use" or block["id"] in made
    ]
    if step.stop_reason == BROKEN_OFF:
        blocks.append({"type": "text", "text": CUT_BY_ERROR})
    content = blocks or [{"type": "text", "text": NO_TEXT}]
    # Where the provider ran code for the answer, if reported.
    container = step.answered_by.get("container", "")
    answer = ModelMessage(
        "assistant", content, step.provider, step.model, step.prefix, container
    )
    results = [_result(call, files or {}) for call in step.calls]
    return [answer, ModelMessage("user", results)] if results else [answer]


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
        messages = [*before] if question is None else [*before, question]
        return answered(messages, steps, files)
    called = ", ".join(
        f"{call.name} ({call.state})" for step in steps[:-1] for call in step.calls
    )
    if not called:
        return [*before]
    text = {"type": "text", "text": REFUSED_TURN % called}
    return [*before, ModelMessage("user", [text])]


def _result(call: CallView, files: Mapping[uuid.UUID, bytes]) -> JsonDict:
    text, is_error = _result_text(call)
    blocks = [file_block(file, files) for file in result_files(call)]
    content = [{"type": "text", "text": text}, *blocks] if blocks else text
    result = {
        "type": "tool_result",
        "tool_use_id": call.tool_call_id,
        "content": content,
    }
    return result | ({"is_error": True} if is_error else {})


def _result_text(call: CallView) -> tuple[str, bool]:
    note = ""
    if call.edited_input is not None:
        note = EDITED % json.dumps(call.edited_input, ensure_ascii=False)
    match call.state:
        case CallState.SUCCEEDED:
            output = call.output
            is_text = isinstance(output, str)
            text = output if is_text else json.dumps(output, ensure_ascii=False)
            return note + text, False
        case CallState.FAILED if call.declined:
            words = f"The person declined to answer. Their words: {call.error_text}"
            return words, True
        case CallState.FAILED | CallState.CANCELLED:
            return note + call.error_text, True
        case CallState.DENIED if call.by_rule:
            words = "The policy denies this call. It was not run; do not try it again."
            return f"{words} {call.reason}", False
        case CallState.DENIED:
            why = f" Their reason: {call.reason}" if call.reason else ""
            words = "A person decided against this call. It was not run; do not try it again."
            return words + why, False
        case _:
            return "This call has no result: it was not finished.", True
