"""A Chat Completions stream: events to show at once, and the answer in Anthropic's blocks. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from approvals.db.canonical_json import join_halves
from chats.agent.events import (
    AnswerMetered,
    Event,
    ModelFinished,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolInputDelta,
    ToolInputReady,
    ToolInputStarted,
)
from chats.agent.provider import ITEM
from chats.providers.openai.answer import Malformed, counted, input_of, is_whole_input, note, unused_id
from chats.providers.openai.chat_completions.members import (
    CALL,
    FUNCTION,
    MESSAGE,
    THOUGHTS,
    VENDOR,
    VendorMembers,
    mentions,
)
from chats.providers.openai.chat_completions.parts import CONTENT, Part, listed, parts_of

STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}


@dataclass(slots=True)
class _Text:
    """Text or thoughts while they arrive; `field` is where the server put thoughts."""

    id: str
    field: str = ""
    pieces: list[str] = dataclass_field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Call:
    """A call while it arrives. `id` is ours from the moment that it is shown, and `tool` the name by which we know its tool.

    `members` and `function` are what the vendor adds to it.
    """

    theirs: str = ""
    id: str = ""
    name: str = ""
    tool: str = ""
    pieces: list[str] = dataclass_field(default_factory=list)
    shown: bool = False
    members: VendorMembers = dataclass_field(default_factory=lambda: VendorMembers(CALL))
    function: VendorMembers = dataclass_field(default_factory=lambda: VendorMembers(FUNCTION))

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def input(self) -> dict[str, Any]:
        return input_of(self.text)

    def is_whole(self) -> bool:
        """Return whether its input has come to its end."""
        return bool(self.pieces) and self.pieces[-1].rstrip().endswith("}") and is_whole_input(self.text)


class StreamedAnswer:
    """One answer of `model` as it arrives: `begun` with its first output, `complete` once the server has said why it ended.

    `names` are the tools by the names that were sent. A call whose id is in `used` gets a new one, because some servers number
    the calls of each answer anew.
    """

    def __init__(self, model: str, names: Mapping[str, str], used: Collection[str] = ()) -> None:
        self.model = model
        #: Thoughts go back in plain text, which no server refuses.
        self.thoughts_refused = False
        self.reason = ""
        self._names = names
        self._used = set(used)
        self._parts: list[_Text | _Call] = []
        #: The text that is still being written.
        self._open: _Text | None = None
        self._at: dict[int, _Call] = {}
        self._members = VendorMembers(MESSAGE)
        #: The content so far, as long as it is text alone and not a list of parts.
        self._texts: list[str] | None = []
        self._filtered: list[str] = []
        self._refused = False
        self._usage: dict[str, int] = {}
        #: Who answers, as the server says, not yet made safe: see `ModelFinished.answered_by`.
        self.identity: dict[str, Any] = {}

    @property
    def begun(self) -> bool:
        return bool(self._parts)

    #: Until its first output such a server says nothing.
    working = begun

    @property
    def complete(self) -> bool:
        return bool(self.reason)

    @property
    def _calls(self) -> list[_Call]:
        return [part for part in self._parts if isinstance(part, _Call)]

    def take(self, raw: Any) -> Iterator[Event]:
        """Take one event of the stream; yield what it gives to show. Malformed."""
        if not isinstance(raw, dict) or not isinstance(raw.get("choices") or [], list):
            raise Malformed
        if self._count(raw.get("usage")) | note(self.identity, raw):
            yield self.metered()
        for choice in raw.get("choices") or []:
            if not isinstance(choice, dict) or not isinstance(choice.get("delta") or {}, dict):
                raise Malformed
            # Only one choice is asked for, but some servers count it from 1. What comes after the end belongs to no answer.
            if not self.complete:
                yield from self._delta(choice.get("delta") or {})
            filters = choice.get("content_filter_results")
            for name, filter_result in filters.items() if isinstance(filters, dict) else ():
                if isinstance(filter_result, dict) and filter_result.get("filtered") and name not in self._filtered:
                    self._filtered.append(str(name))
            reason = choice.get("finish_reason")
            if reason and not self.complete:
                self.reason = str(reason)
                yield from self._end()

    def finished(self) -> ModelFinished:
        """Return the whole answer; the stop reason "unknown" says in its details what the server said."""
        reason, details = STOP_REASONS.get(self.reason, "unknown"), {}
        if reason == "unknown":
            details = {"reason": self.reason}
        elif self._calls and reason == "end_turn":
            # Some servers say "stop" after calls too.
            reason = "tool_use"
        elif reason == "refusal" or self._refused:
            reason, details = "refusal", {"type": "refusal"}
            details |= {"category": ", ".join(self._filtered)} if self._filtered else {}
        return ModelFinished(self._blocks(), reason, self.model, self._usage, details)

    def metered(self) -> AnswerMetered:
        """Return what is known of the answer so far."""
        return AnswerMetered(self.model, dict(self._usage), dict(self.identity))

    def _blocks(self) -> list[dict[str, Any]]:
        """Return the answer in Anthropic's blocks; the last holds what else the vendor has said, if it has."""
        members = self._members.kept()
        blocks = [self._block(part, members) for part in self._parts]
        for field in THOUGHTS:
            shown = "".join(block["thinking"] for block in blocks if block.get("field") == field)
            if shown and members.get(field) == shown:
                del members[field]
        return [*blocks, {"type": VENDOR, ITEM: members}] if blocks and members else blocks

    def _block(self, part: _Text | _Call, members: Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(part, _Call):
            kept: dict[str, Any] = {"call": part.members.kept(), "function": part.function.kept()}
            if part.theirs and mentions([members, kept], part.theirs):
                # What refers to the call, such as a signature, is found by this id alone.
                kept["call_id"] = part.theirs
            item = {ITEM: kept} if any(kept.values()) else {}
            return {"type": "tool_use", "id": part.id, "name": part.tool, "input": part.input, **item}
        text = join_halves("".join(part.pieces))
        if part.field:
            return {"type": "thinking", "thinking": text, "field": part.field}
        return {"type": "text", "text": text}

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[Event]:
        self._members.take(delta)
        # A server may send the same thoughts under both names.
        thoughts = next((name for name in THOUGHTS if isinstance(delta.get(name), str) and delta[name]), "")
        if thoughts:
            yield from self._say(thoughts, delta[thoughts])
        yield from self._content(delta.get(CONTENT))
        refusal = delta.get("refusal")
        if isinstance(refusal, str):
            yield from self._part(Part(refusal, refusal=True))
        pieces = delta.get("tool_calls") or []
        if not isinstance(pieces, list) or not all(isinstance(piece, dict) for piece in pieces):
            raise Malformed
        earlier: list[_Call] = []
        for piece in pieces:
            yield from self._end_text()
            yield from self._call_piece(piece, earlier)

    def _content(self, content: Any) -> Iterator[Event]:
        """Take a piece of the content, which goes back as parts if it comes in parts."""
        if isinstance(content, str) and self._texts is not None:
            self._texts.append(content)
        elif content and (parts := listed(content)):
            for text in self._texts or ():
                self._members.add(CONTENT, listed(text))
            self._texts = None
            self._members.add(CONTENT, parts)
        for part in parts_of(content):
            yield from self._part(part)

    def _part(self, part: Part) -> Iterator[Event]:
        if not part.text:
            return
        self._refused |= part.refusal
        if part.alone:
            yield from self._end_text()
        yield from self._say(CONTENT if part.thought else "", part.text)
        if part.alone:
            yield from self._end_text()

    def _say(self, field: str, text: str) -> Iterator[Event]:
        """Add to the open text, or begin another."""
        if self._open is None or self._open.field != field:
            yield from self._end_text()
            self._open = _Text(f"{'thinking' if field else 'text'}-{len(self._parts)}", field)
            self._parts.append(self._open)
            yield ReasoningStarted(self._open.id) if field else TextStarted(self._open.id)
        self._open.pieces.append(text)
        yield ReasoningDelta(self._open.id, text) if field else TextDelta(self._open.id, text)

    def _end_text(self) -> Iterator[Event]:
        if self._open is not None:
            yield ReasoningEnded(self._open.id) if self._open.field else TextEnded(self._open.id)
        self._open = None

    def _call_piece(self, piece: Mapping[str, Any], earlier: list[_Call]) -> Iterator[Event]:
        """Take a piece of a call: the first has its id and name, the others parts of its input.

        `earlier` are the calls of which a piece has come with the same event.
        """
        function = piece.get("function") or {}
        if not isinstance(function, dict) or isinstance(function.get("arguments"), dict):
            raise Malformed
        theirs, name = str(piece.get("id") or ""), str(function.get("name") or "")
        text = function.get("arguments")
        if not isinstance(text, str):
            text = ""
        index = piece.get("index")
        call = self._call_of(index, theirs)
        at_once = call in earlier and not isinstance(index, int)
        if call is not None and name and _is_another(call, name, text, at_once=at_once):
            call = None
        elif call is not None and name and call.is_whole() and text == call.text:
            # The whole call, once more.
            text = ""
        if call is None:
            call = _Call()
            self._parts.append(call)
        if isinstance(index, int):
            self._at[index] = call
        earlier.append(call)
        call.theirs = call.theirs or theirs
        call.members.take(piece)
        call.function.take(function)
        # Some servers repeat the name in every piece.
        call.name = call.name or name
        if text:
            call.pieces.append(text)
        if call.shown and text:
            yield ToolInputDelta(call.id, text)
        elif not call.shown and call.name and call.theirs:
            yield from self._show(call)

    def _call_of(self, index: Any, theirs: str) -> _Call | None:
        """Return the call that a piece may belong to. Some servers send no index, or the same index for all calls."""
        if isinstance(index, int):
            call = self._at.get(index)
        else:
            # Without an id, the piece belongs to the last call.
            call = next((known for known in reversed(self._calls) if theirs in ("", known.theirs)), None)
        if call is not None and theirs and call.theirs and theirs != call.theirs:
            return None
        return call

    def _show(self, call: _Call) -> Iterator[Event]:
        call.id = unused_id(call.theirs, self._used)
        call.tool = self._names.get(call.name, call.name)
        call.shown = True
        yield ToolInputStarted(call.id, call.tool)
        for text in call.pieces:
            yield ToolInputDelta(call.id, text)

    def _end(self) -> Iterator[Event]:
        yield from self._end_text()
        for call in self._calls:
            if not call.shown:
                yield from self._show(call)
            yield ToolInputReady(call.id, call.tool, call.input)

    def _count(self, usage: Any) -> bool:
        """Take the usage; return whether there is any."""
        if isinstance(usage, dict):
            self._usage = counted(usage, "prompt_tokens", "completion_tokens")
        return isinstance(usage, dict)


def _is_another(call: _Call, name: str, text: str, *, at_once: bool) -> bool:
    """Return whether a piece with a name, which could be one of `call`, begins another call in truth.

    Some servers give all calls one id or index, or none, and others repeat the name in each piece of a call.
    """
    if not call.name:
        return False
    if at_once or name != call.name:
        return True
    if not call.is_whole():
        return False
    # With an id, it may be the end of the same call, or the same call once more.
    return not call.theirs or (text.lstrip().startswith("{") and text != call.text)
