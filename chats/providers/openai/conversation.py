"""The stored conversation for both APIs: calls with their results, in Anthropic's blocks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from chats.agent.provider import ITEM, ModelMessage
from chats.providers.names import digest, sent_id

#: Stands for an answer without anything to send.
EMPTY = "(nothing said)"
#: These APIs do not distinguish the result of a failed call from others.
FAILED = "(This call failed.) "

Block = Mapping[str, Any]


def used_ids(messages: Iterable[ModelMessage]) -> set[str]:
    """Return the ids of the calls in these messages."""
    return {
        str(block["id"])
        for message in messages
        for block in message.content
        if block.get("type") == "tool_use"
    }


def with_results(
    history: Sequence[ModelMessage], provider: str, longest_id: int, model: str = ""
) -> Iterator[tuple[ModelMessage, dict[str, str], dict[str, Block]]]:
    """Yield each message with the calls that have results, by their sent ids, and with the results in it.

    An answer comes with the calls that it made, and the message after it with the same calls and their results. Ids of calls
    made by another provider are replaced: servers differ in the ids they accept, but all accept ours. `model` gets the ids back
    that its own answers refer to.
    """
    results = [_results_by_id(message) for message in history]
    call_ids: dict[str, str] = {}
    for position, message in enumerate(history):
        if message.role == "assistant":
            answered = results[position + 1] if position + 1 < len(history) else {}
            own = message.provider == provider
            made = used_ids([message])
            call_ids = {
                call_id: sent_id(call_id, longest_id) if own else digest(call_id)
                for call_id in answered
                if call_id in made
            }
            if own and message.model == model:
                call_ids |= _their_ids(message, call_ids, longest_id)
            yield message, call_ids, {}
        else:
            yield message, call_ids, results[position]
            call_ids = {}


def _their_ids(
    message: ModelMessage, call_ids: Mapping[str, str], longest_id: int
) -> dict[str, str]:
    """Return the ids that a vendor gave to calls and refers to elsewhere, by ours. Two calls never get the same one."""
    ids: dict[str, str] = {}
    for block in message.content:
        theirs = (
            block.get(ITEM, {}).get("call_id", "")
            if block.get("id") in call_ids
            else ""
        )
        taken = {
            *ids.values(),
            *(sent for call_id, sent in call_ids.items() if call_id != block.get("id")),
        }
        if theirs and theirs == sent_id(theirs, longest_id) and theirs not in taken:
            ids[str(block["id"])] = theirs
    return ids


def _results_by_id(message: ModelMessage) -> dict[str, Block]:
    return {
        str(block["tool_use_id"]): block
        for block in message.content
        if block.get("type") == "tool_result"
    }


def result_text(block: Block) -> str:
    """Return the text of a result."""
    content = block.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(
            part["text"] for part in content if part.get("type") == "text"
        )
    return FAILED + content if block.get("is_error") else content


def result_files(block: Block) -> list[Block]:
    """Return the pictures and documents of a result."""
    content = block.get("content")
    return (
        [each for each in content if each["type"] != "text"]
        if isinstance(content, list)
        else []
    )
