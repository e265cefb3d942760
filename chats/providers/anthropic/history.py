"""The conversation in the form for one model: which blocks are sent, and which thoughts are still valid. Pure.

The API binds a thought to everything sent before it, and refuses a request in which any of that has changed
(https://platform.claude.com/docs/en/build-with-claude/preserved-thinking). So each answer is stored with a digest of everything
sent before it (`ModelFinished.prefix`). A thought whose digest differs now is left out, and with it each later thought, since
they were made after it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from approvals.json_types import JsonDict, JsonMapping
from chats.agent.provider import GO_ON, ModelMessage
from chats.providers.anthropic.blocks import (
    Block,
    begins_turn,
    declared_names,
    declares_server,
    is_own,
    sendable_ids,
    used_id,
)
from chats.providers.names import sent_id, sent_name

#: Maximum length of a tool's name and of a call's id in the API.
LONGEST_NAME = 128
THOUGHTS = frozenset({"thinking", "redacted_thinking"})
#: Block types that any message may hold. A model's own messages also return its thoughts, uses of API tools, and the places where
#: another model took over. Blocks of other types stay in the stored step and are not sent, because the API refuses unknown types.
SENT = frozenset({"text", "tool_use", "tool_result", "image", "document"})
#: A summary of everything before it; see `chats.providers.anthropic.compaction`.
SUMMARY = "compaction"
#: The tools of an MCP server at the time of an answer.
LISTING = "mcp_tool_listing"
#: Where the model refused to continue in an answer, and another one took over.
FALLBACK = "fallback"
BEGINNING = {
    "type": "text",
    "text": "(The beginning of this conversation is left out, because it became too long.)",
}
#: Newer models refuse a request that ends with the text of an answer.
END_OF_PAUSED = {"type": "text", "text": GO_ON}
EMPTY = {"type": "text", "text": "(nothing said)"}


@dataclass(frozen=True, slots=True)
class RequestMessages:
    """The messages to send, and the digest of everything sent with them.

    `size` is the length of their JSON in bytes. `left_out` is the number of answers whose thoughts are no longer valid.
    `changed`: they still were when the last answer was made. The first `skipped` messages are left out because the whole is too
    long; `shortened`: they were still sent when the last answer was made.
    """

    messages: list[JsonDict]
    prefix: str
    left_out: int
    changed: bool
    size: int
    skipped: int
    shortened: bool


@dataclass(frozen=True, slots=True)
class _Receiver:
    """The model that gets the messages, the names of the tools sent to it, and whether it gets summaries and code that waits."""

    model: str
    declared: frozenset[str]
    summaries: bool
    in_container: bool


class _Digest:
    """A digest of everything that is sent, as it grows. `texts` keeps the JSON of blocks, by id, while they are in use."""

    def __init__(self, opening: Any, skipped: int, texts: dict[int, bytes]) -> None:
        self._hash = hashlib.sha256(json.dumps(opening, sort_keys=True).encode())
        self._skipped = f"+{skipped}" if skipped else ""
        self._texts = texts
        self.size = 0

    def add(self, role: str, blocks: Sequence[Block]) -> None:
        for block in blocks:
            if id(block) not in self._texts:
                self._texts[id(block)] = json.dumps(block, sort_keys=True).encode()
            self.size += len(self._texts[id(block)])
            self._hash.update(b"%b %b\n" % (role.encode(), self._texts[id(block)]))

    def __str__(self) -> str:
        return f"sha256:{self._hash.hexdigest()}{self._skipped}"


def sendable_history(
    messages: Sequence[ModelMessage],
    model: str,
    opening: JsonMapping,
    *,
    files: Sequence[Block] = (),
    thoughts: bool = True,
    summaries: bool = True,
    in_container: bool = True,
    skip: int = 0,
) -> RequestMessages:
    """Return the conversation for `model`, which begins with `files`; `opening` is sent before it.

    `thoughts=False` or `summaries=False` leaves all of them out, `in_container=False` the code that waits for its container, and
    `skip` this many messages at the beginning, or more if the last answer was already made without them.
    """
    before = _skipped_before(messages, model)
    skip = max(skip, before)
    messages = messages[skip:]
    declared = declared_names(opening.get("tools", ()))
    opening = {**opening, "files": files} if files else opening
    receiver = _Receiver(model, declared, summaries, in_container)
    whole = [_blocks(messages, place, receiver) for place in range(len(messages))]
    if skip:
        whole[0] = [BEGINNING, *whole[0]]
    messages, whole = _with_ends(messages, whole, model)
    bare = list(map(_without_thoughts, whole))
    texts: dict[int, bytes] = {}
    begin = len(messages)
    if thoughts:
        bare_digest = _Digest(opening, skip, texts)
        begin = _thoughts_begin(messages, bare, model, bare_digest)
    digest = _Digest(opening, skip, texts)
    left_out = 0
    changed = False
    sent: list[JsonDict] = []
    for place, (message, blocks) in enumerate(zip(messages, whole, strict=True)):
        has_thoughts = any(block["type"] in THOUGHTS for block in blocks)
        # Answers stored without a digest are assumed valid until one is found to be invalid.
        fits = message.prefix == str(digest) if message.prefix else not left_out
        if message.prefix and is_own(message, model):
            changed = not fits
        kept = place >= begin and fits
        left_out += has_thoughts and not kept
        content = _ended(blocks) if kept or not has_thoughts else bare[place]
        digest.add(message.role, content)
        sent.append({"role": message.role, "content": content})
    sent[0] = {**sent[0], "content": [*files, *sent[0]["content"]]}
    return RequestMessages(
        sent,
        str(digest),
        left_out,
        changed and left_out > 0,
        digest.size,
        skip,
        skip > before,
    )


def _skipped_before(messages: Sequence[ModelMessage], model: str) -> int:
    """Return how many messages were left out at the beginning when this model made its last answer."""
    for message in reversed(messages):
        if message.prefix and is_own(message, model):
            skipped = int(message.prefix.partition("+")[2] or 0)
            return (
                skipped
                if skipped < len(messages) and begins_turn(messages[skipped])
                else 0
            )
    return 0


def later_beginning(messages: Sequence[ModelMessage], skipped: int) -> int:
    """Return how many messages to leave out for a history about half as long; 0 if it cannot be shorter."""
    sizes = [len(json.dumps(list(message.content))) for message in messages]
    places = [
        place
        for place in range(skipped + 1, len(messages))
        if begins_turn(messages[place])
    ]
    half = sum(sizes[skipped:]) / 2
    return next(
        (place for place in places if sum(sizes[place:]) <= half),
        places[-1] if places else 0,
    )


def _thoughts_begin(
    messages: Sequence[ModelMessage],
    bare: Sequence[list[Block]],
    model: str,
    digest: _Digest,
) -> int:
    """Return the index from which on thoughts are sent: that of the last answer made without any before it.

    The API had refused the earlier ones then, perhaps because they belong to another account.
    """
    begin = 0
    for place, (message, blocks) in enumerate(zip(messages, bare, strict=True)):
        if message.prefix and is_own(message, model) and message.prefix == str(digest):
            begin = place
        digest.add(message.role, blocks)
    return begin


def _blocks(
    messages: Sequence[ModelMessage], place: int, receiver: _Receiver
) -> list[Block]:
    """Return the blocks of a message for this model, with its own thoughts."""
    message = messages[place]
    declared = receiver.declared
    own = is_own(message, receiver.model)
    continued = _is_paused(messages, place)
    paired: frozenset[str] = frozenset()
    if own:
        paired = sendable_ids(
            messages,
            place,
            receiver.model,
            declared,
            in_container=receiver.in_container,
        )
    kept: list[Block] = []
    whole = True
    for block in _after_hand_over(message.content):
        kind = str(block.get("type"))
        if kind in THOUGHTS:
            # The API refuses a thought that was cut off before it was signed, and one after a missing block.
            sends = own and whole and bool(block.get("signature") or block.get("data"))
        elif kind == SUMMARY:
            # Null stands for a failed summary, which is sent back unchanged; the API refuses an empty text.
            sends = own and receiver.summaries and block.get("content") != ""
        elif kind == LISTING:
            sends = own and declares_server(declared, block)
        elif kind == FALLBACK:
            sends = own
        else:
            sends = kind in SENT or used_id(block) in paired
        whole = whole and sends
        if sends:
            kept.append(_named(block, declared))
    if continued and kept and kept[-1]["type"] == "text":
        # After `pause_turn` the API continues this message, and refuses one that ends in white space.
        kept[-1] = kept[-1] | {"text": kept[-1]["text"].rstrip()}
    return kept


def _with_ends(
    messages: Sequence[ModelMessage], whole: Sequence[list[Block]], model: str
) -> tuple[list[ModelMessage], list[list[Block]]]:
    """Return messages and their blocks with END_OF_PAUSED after each paused answer that this model cannot continue."""
    ended: list[tuple[ModelMessage, list[Block]]] = []
    for place, (message, blocks) in enumerate(zip(messages, whole, strict=True)):
        ended.append((message, blocks))
        if _is_paused(messages, place) and not (
            is_own(message, model) and _sends_end(message, blocks)
        ):
            ended.append((ModelMessage("user", [END_OF_PAUSED]), [END_OF_PAUSED]))
    return [message for message, _ in ended], [blocks for _, blocks in ended]


def _is_paused(messages: Sequence[ModelMessage], place: int) -> bool:
    """Return whether an answer is continued by the next message, or by the answer to this request."""
    answers = [message.role == "assistant" for message in messages[place : place + 2]]
    return all(answers)


def _sends_end(message: ModelMessage, blocks: Sequence[Block]) -> bool:
    """Return whether the last block of a message is among those sent."""
    last = message.content[-1] if message.content else {}
    return bool(blocks) and (blocks[-1]["type"], blocks[-1].get("id")) == (
        last.get("type"),
        last.get("id"),
    )


def _after_hand_over(blocks: Sequence[Block]) -> list[Block]:
    """Return blocks without the thoughts before the last fallback, as the API requires."""
    last = max(
        (place for place, block in enumerate(blocks) if block.get("type") == FALLBACK),
        default=0,
    )
    return [
        block
        for place, block in enumerate(blocks)
        if place >= last or block.get("type") not in THOUGHTS
    ]


def _named(block: JsonMapping, declared: frozenset[str]) -> Block:
    """Return a block with an id and name that the API accepts: those from models of other servers may be refused.

    It also refuses a found tool that is no longer `declared`.
    """
    sent = dict(block)
    match block:
        case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
            sent |= {
                "id": sent_id(call_id, LONGEST_NAME),
                "name": sent_name(name, LONGEST_NAME),
            }
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            sent["tool_use_id"] = sent_id(call_id, LONGEST_NAME)
        case {
            "type": "tool_search_tool_result",
            "content": {"tool_references": list(references), **more},
        }:
            there = [each for each in references if each.get("tool_name") in declared]
            sent["content"] = {**more, "tool_references": there}
    return sent


def _without_thoughts(blocks: Sequence[Block]) -> list[Block]:
    return _ended([block for block in blocks if block["type"] not in THOUGHTS])


def _ended(blocks: list[Block]) -> list[Block]:
    """Return blocks valid for a message: the API refuses an empty message, and one that ends in a thought."""
    return [*blocks, EMPTY] if not blocks or blocks[-1]["type"] in THOUGHTS else blocks
