"""A Chat Completions stream: events to show at once, and the answer in Anthropic's blocks. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from approvals.db.canonical_json import join_halves
from approvals.json_types import JsonDict, JsonMapping
from chats.agent.events import (
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
from chats.providers.openai.answer import (
    Malformed,
    ModelResponse,
    counted,
    note,
    unused_id,
)
from chats.providers.openai.chat_completions.calls import (
    ArrivingCall,
    CallPiece,
    read_piece,
)
from chats.providers.openai.chat_completions.members import (
    MESSAGE,
    THOUGHTS,
    VENDOR,
    VendorMembers,
)
from chats.providers.openai.chat_completions.parts import (
    CONTENT,
    ShownPart,
    listed,
    parts_of,
)

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


class StreamedAnswer(ModelResponse):
    """One answer of `model` while it arrives. Thoughts are sent back in plain text, which no server refuses."""

    def __init__(
        self, model: str, names: Mapping[str, str], used: Collection[str] = ()
    ) -> None:
        super().__init__(model, names, used)
        self._parts: list[_Text | ArrivingCall] = []
        #: The text that is still being written.
        self._open: _Text | None = None
        self._at: dict[int, ArrivingCall] = {}
        self._members = VendorMembers(MESSAGE)
        #: The content so far, while it is only text and not a list of parts.
        self._texts: list[str] | None = []
        self._filtered: list[str] = []
        self._refused = False

    @property
    def _calls(self) -> list[ArrivingCall]:
        return [part for part in self._parts if isinstance(part, ArrivingCall)]

    def take(self, raw: Any) -> Iterator[Event]:
        if not isinstance(raw, dict) or not isinstance(raw.get("choices") or [], list):
            raise Malformed
        if self._count(raw.get("usage")) | note(self.identity, raw):
            yield self.metered()
        for choice in raw.get("choices") or []:
            if not isinstance(choice, dict) or not isinstance(
                choice.get("delta") or {}, dict
            ):
                raise Malformed
            # Only one choice is requested, but some servers count it from 1. Data after the end belongs to no answer.
            if not self.complete:
                yield from self._delta(choice.get("delta") or {})
            filters = choice.get("content_filter_results")
            for name, filter_result in (
                filters.items() if isinstance(filters, dict) else ()
            ):
                if (
                    isinstance(filter_result, dict)
                    and filter_result.get("filtered")
                    and name not in self._filtered
                ):
                    self._filtered.append(str(name))
            reason = choice.get("finish_reason")
            if reason and not self.complete:
                self.reason = str(reason)
                yield from self._end()

    def finished(self) -> ModelFinished:
        reason = STOP_REASONS.get(self.reason, "unknown")
        details = {}
        if reason == "unknown":
            details = {"reason": self.reason}
        elif self._calls and reason == "end_turn":
            # Some servers say "stop" after calls too.
            reason = "tool_use"
        elif reason == "refusal" or self._refused:
            reason = "refusal"
            details = {"type": "refusal"}
            details |= {"category": ", ".join(self._filtered)} if self._filtered else {}
        return ModelFinished(self._blocks(), reason, self.model, self._usage, details)

    def _blocks(self) -> list[JsonDict]:
        """Return the answer in Anthropic's blocks; the last one holds the vendor's other members, if any."""
        members = self._members.kept()
        blocks = [self._block(part, members) for part in self._parts]
        for field in THOUGHTS:
            shown = "".join(
                block["thinking"] for block in blocks if block.get("field") == field
            )
            if shown and members.get(field) == shown:
                del members[field]
        return (
            [*blocks, {"type": VENDOR, ITEM: members}] if blocks and members else blocks
        )

    def _block(self, part: _Text | ArrivingCall, members: JsonMapping) -> JsonDict:
        if isinstance(part, ArrivingCall):
            return part.block(members)
        text = join_halves("".join(part.pieces))
        if part.field:
            return {"type": "thinking", "thinking": text, "field": part.field}
        return {"type": "text", "text": text}

    def _delta(self, delta: JsonMapping) -> Iterator[Event]:
        self._members.take(delta)
        # A server may send the same thoughts under both names.
        thoughts = next(
            (
                name
                for name in THOUGHTS
                if isinstance(delta.get(name), str) and delta[name]
            ),
            "",
        )
        if thoughts:
            yield from self._say(thoughts, delta[thoughts])
        yield from self._content(delta.get(CONTENT))
        refusal = delta.get("refusal")
        if isinstance(refusal, str):
            yield from self._part(ShownPart(refusal, refusal=True))
        pieces = delta.get("tool_calls") or []
        if not isinstance(pieces, list) or not all(
            isinstance(piece, dict) for piece in pieces
        ):
            raise Malformed
        earlier: list[ArrivingCall] = []
        for piece in pieces:
            yield from self._end_text()
            yield from self._call_piece(read_piece(piece), earlier)

    def _content(self, content: Any) -> Iterator[Event]:
        """Process a piece of the content, which is sent back as parts if it comes in parts."""
        if isinstance(content, str) and self._texts is not None:
            self._texts.append(content)
        elif content and (parts := listed(content)):
            for text in self._texts or ():
                self._members.add(CONTENT, listed(text))
            self._texts = None
            self._members.add(CONTENT, parts)
        for part in parts_of(content):
            yield from self._part(part)

    def _part(self, part: ShownPart) -> Iterator[Event]:
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
            self._open = _Text(
                f"{'thinking' if field else 'text'}-{len(self._parts)}", field
            )
            self._parts.append(self._open)
            self.begun = True
            yield (
                ReasoningStarted(self._open.id) if field else TextStarted(self._open.id)
            )
        self._open.pieces.append(text)
        yield (
            ReasoningDelta(self._open.id, text)
            if field
            else TextDelta(self._open.id, text)
        )

    def _end_text(self) -> Iterator[Event]:
        if self._open is not None:
            yield (
                ReasoningEnded(self._open.id)
                if self._open.field
                else TextEnded(self._open.id)
            )
        self._open = None

    def _call_piece(
        self, piece: CallPiece, earlier: list[ArrivingCall]
    ) -> Iterator[Event]:
        """Process a piece of a call. `earlier` are the calls with a piece in the same event."""
        call = self._known_call(piece)
        if call is None or call.is_other_than(
            piece, at_once=piece.index is None and call in earlier
        ):
            call = ArrivingCall()
            self._parts.append(call)
            self.begun = True
        if piece.index is not None:
            self._at[piece.index] = call
        earlier.append(call)
        text = call.take(piece)
        if call.shown and text:
            yield ToolInputDelta(call.id, text)
        elif not call.shown and call.name and call.theirs:
            yield from self._show(call)

    def _known_call(self, piece: CallPiece) -> ArrivingCall | None:
        """Return the call that a piece may belong to. Some servers send no index, or the same index for all calls."""
        if piece.index is not None:
            return self._at.get(piece.index)
        # Without an id, the piece belongs to the last call.
        return next(
            (
                known
                for known in reversed(self._calls)
                if piece.theirs in ("", known.theirs)
            ),
            None,
        )

    def _show(self, call: ArrivingCall) -> Iterator[Event]:
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
        """Store the usage; return whether there is any."""
        if isinstance(usage, dict):
            self._usage = counted(usage, "prompt_tokens", "completion_tokens")
        return isinstance(usage, dict)
