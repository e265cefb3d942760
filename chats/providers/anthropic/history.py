"""The conversation as one model may be sent it: which blocks travel, and which thoughts are still valid. Pure.

The API binds a thought to everything that was sent before it, and refuses a request in which anything of that has changed
(https://platform.claude.com/docs/en/build-with-claude/preserved-thinking). So each answer is stored with a digest of what it
was made under (`ModelFinished.prefix`). A thought whose digest differs from what would be sent before it now is left out, and
with it, because it is a part of what they were made under, each later thought.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from chats.agent.provider import GO_ON, ModelMessage
from chats.providers.names import sent_id, sent_name

NAME = "anthropic"
Block = dict[str, Any]

#: The longest name of a tool, and id of a call, that the API takes.
LONGEST_NAME = 128
THOUGHTS = frozenset({"thinking", "redacted_thinking"})
#: Block types that any message may hold. A model's own messages also return its thoughts and the use of Anthropic's server
#: tools. Blocks of other types, such as those of MCP connectors, stay in the stored step and are not sent, because the API
#: refuses types that it does not know.
SENT = frozenset({"text", "tool_use", "tool_result", "image", "document"})
#: A summary of all that is before it; see `chats.providers.anthropic.compaction`.
SUMMARY = "compaction"
BEGINNING = {"type": "text", "text": "(The beginning of this conversation is left out, because it became too long.)"}
#: Newer models refuse a request that ends with the words of an answer.
END_OF_PAUSED = {"type": "text", "text": GO_ON}
EMPTY = {"type": "text", "text": "(nothing said)"}


@dataclass(frozen=True, slots=True)
class History:
    """The messages to send, and the digest of all that is sent with them.

    `size` is the length of their JSON in bytes. `left_out` is the number of answers whose thoughts are no longer valid.
    `changed` says that they still were when the last answer was made. The first `skipped` messages are left out because the
    whole is too long; `shortened` says that they were still sent when the last answer was made.
    """

    messages: list[dict[str, Any]]
    prefix: str
    left_out: int
    changed: bool
    size: int
    skipped: int
    shortened: bool


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
    opening: Mapping[str, Any],
    *,
    thoughts: bool = True,
    summaries: bool = True,
    skip: int = 0,
) -> History:
    """Return the conversation for `model`; `opening` is what is sent before it.

    False for `thoughts` or `summaries` leaves all of them out, and `skip` as many messages at the beginning, or more if the
    last answer was already made without these.
    """
    before = _skipped_before(messages, model)
    skip = max(skip, before)
    messages = messages[skip:]
    declared = frozenset(str(tool.get("name")) for tool in opening.get("tools", ()))
    whole = [_blocks(messages, place, model, declared, summaries=summaries) for place in range(len(messages))]
    if skip:
        whole[0] = [BEGINNING, *whole[0]]
    messages, whole = _with_ends(messages, whole, model)
    bare = [_ended([block for block in blocks if block["type"] not in THOUGHTS]) for blocks in whole]
    texts: dict[int, bytes] = {}
    begin = _thoughts_begin(messages, bare, model, _Digest(opening, skip, texts)) if thoughts else len(messages)
    digest = _Digest(opening, skip, texts)
    left_out, changed = 0, False
    sent: list[dict[str, Any]] = []
    for place, (message, blocks) in enumerate(zip(messages, whole, strict=True)):
        has_thoughts = any(block["type"] in THOUGHTS for block in blocks)
        # Answers that were stored without a digest are believed until one is found to be invalid.
        fits = message.prefix == str(digest) if message.prefix else not left_out
        if message.prefix and _is_own(message, model):
            changed = not fits
        kept = place >= begin and fits
        left_out += has_thoughts and not kept
        content = _ended(blocks) if kept or not has_thoughts else bare[place]
        digest.add(message.role, content)
        sent.append({"role": message.role, "content": content})
    return History(sent, str(digest), left_out, changed and left_out > 0, digest.size, skip, skip > before)


def _skipped_before(messages: Sequence[ModelMessage], model: str) -> int:
    """Return how many messages were left out at the beginning when this model made its last answer."""
    for message in reversed(messages):
        if message.prefix and _is_own(message, model):
            skipped = int(message.prefix.partition("+")[2] or 0)
            return skipped if skipped < len(messages) and _may_begin(messages[skipped]) else 0
    return 0


def later_beginning(messages: Sequence[ModelMessage], skipped: int) -> int:
    """Return how many messages to leave out for a history about half as long; 0 if it cannot be shorter."""
    sizes = [len(json.dumps(list(message.content))) for message in messages]
    places = [place for place in range(skipped + 1, len(messages)) if _may_begin(messages[place])]
    half = sum(sizes[skipped:]) / 2
    return next((place for place in places if sum(sizes[place:]) <= half), places[-1] if places else 0)


def _may_begin(message: ModelMessage) -> bool:
    """Return whether a conversation may begin with this message: one of a person, and no results of calls before it."""
    return message.role == "user" and all(block.get("type") != "tool_result" for block in message.content)


def _thoughts_begin(messages: Sequence[ModelMessage], bare: Sequence[list[Block]], model: str, digest: _Digest) -> int:
    """Return the place from which on thoughts are sent: that of the last answer which was made without any before it.

    The API had refused the earlier ones then, perhaps because they are of another account.
    """
    begin = 0
    for place, (message, blocks) in enumerate(zip(messages, bare, strict=True)):
        if message.prefix and _is_own(message, model) and message.prefix == str(digest):
            begin = place
        digest.add(message.role, blocks)
    return begin


def _is_own(message: ModelMessage, model: str) -> bool:
    """Return whether `model` made this message; thoughts are signed for the model that made them."""
    return message.provider == NAME and message.model == model


def _blocks(
    messages: Sequence[ModelMessage], place: int, model: str, declared: frozenset[str], *, summaries: bool
) -> list[Block]:
    """Return the blocks of a message that this model may be sent, with its own thoughts; `declared` are the tools sent."""
    message, own = messages[place], _is_own(messages[place], model)
    continued = _is_paused(messages, place)
    paired = _pairs_around(messages, place, model, declared) if own else frozenset()
    kept: list[Block] = []
    whole = True
    for block in message.content:
        kind = str(block.get("type"))
        if kind in THOUGHTS:
            # The API refuses a thought that was cut off before it was signed, and one behind a block that is missing.
            sends = own and whole and bool(block.get("signature") or block.get("data"))
        elif kind == SUMMARY:
            sends = own and summaries and bool(block.get("content"))
        else:
            sends = kind in SENT or _call_id(block) in paired
        whole = whole and sends
        if sends:
            kept.append(_named(block))
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
        if _is_paused(messages, place) and not (_is_own(message, model) and _sends_end(message, blocks)):
            ended.append((ModelMessage("user", [END_OF_PAUSED]), [END_OF_PAUSED]))
    return [message for message, _ in ended], [blocks for _, blocks in ended]


def _is_paused(messages: Sequence[ModelMessage], place: int) -> bool:
    """Return whether an answer is continued by the next message, or by the answer to this request."""
    answers = [message.role == "assistant" for message in messages[place : place + 2]]
    return all(answers)


def _sends_end(message: ModelMessage, blocks: Sequence[Block]) -> bool:
    """Return whether the last block of a message is among those that are sent."""
    last = message.content[-1] if message.content else {}
    return bool(blocks) and (blocks[-1]["type"], blocks[-1].get("id")) == (last.get("type"), last.get("id"))


def _named(block: Mapping[str, Any]) -> Block:
    """Return a block with an id and name that the API takes: models of other servers have made some that it refuses."""
    sent = dict(block)
    match block:
        case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
            sent |= {"id": sent_id(call_id, LONGEST_NAME), "name": sent_name(name, LONGEST_NAME)}
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            sent["tool_use_id"] = sent_id(call_id, LONGEST_NAME)
    return sent


def _ended(blocks: list[Block]) -> list[Block]:
    """Return blocks that a message may consist of: the API refuses an empty message, and one that ends in a thought."""
    return [*blocks, EMPTY] if not blocks or blocks[-1]["type"] in THOUGHTS else blocks


def _call_id(block: Mapping[str, Any]) -> str:
    """Return the id of a use of a server tool, or of a result of one; "" for any other block."""
    kind = str(block.get("type"))
    if kind == "server_tool_use":
        return str(block.get("id") or "")
    is_result = kind.endswith("_tool_result") and not kind.startswith("mcp_")
    return str(block.get("tool_use_id") or "") if is_result else ""


def _pairs_around(messages: Sequence[ModelMessage], place: int, model: str, declared: frozenset[str]) -> frozenset[str]:
    """Return the ids of the server tools that were used and have a result, in the turn of the model around this message.

    The API runs what waits at the end of the last answer when it is sent back: the last use of a paused answer, and those
    beside calls of our tools, whose results come first. It refuses that without the tool.
    """
    begin, end = place, place + 1
    while begin > 0 and _goes_on(messages[begin - 1]):
        begin -= 1
    while end < len(messages) and _goes_on(messages[end]):
        end += 1
    answers = [message.content for message in messages[begin:end] if _is_own(message, model)]
    used: set[str] = set()
    paired: set[str] = set()
    for block in chain.from_iterable(answers):
        call_id = _call_id(block)
        if block.get("type") == "server_tool_use":
            used.add(call_id)
        elif call_id in used:
            paired.add(call_id)
    if end == len(messages) and answers:
        last = answers[-1] if messages[-1].role == "user" else answers[-1][-1:]
        waits = (block for block in last if block.get("type") == "server_tool_use")
        paired |= {_call_id(block) for block in waits if _declared_name(block) in declared}
    return frozenset(paired - {""})


def _goes_on(message: ModelMessage) -> bool:
    """Return whether a message belongs to a turn of the model: an answer, or results of our tools for it."""
    return message.role == "assistant" or all(block.get("type") == "tool_result" for block in message.content)


def _declared_name(use: Mapping[str, Any]) -> str:
    """Return the name under which a server tool is declared; the one for code is used by three names."""
    name = str(use.get("name"))
    return "code_execution" if name.endswith("code_execution") else name
