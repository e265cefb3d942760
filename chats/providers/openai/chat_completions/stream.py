"""A Chat Completions stream: events to show at once, and the answer in Anthropic's blocks. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

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
from chats.providers.openai.answer import Malformed, counted, input_of, note, unused_id

STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
#: Where servers put the thoughts of a model; OpenAI's own does not show them.
THOUGHTS = ("reasoning_content", "reasoning")


@dataclass(slots=True)
class _Text:
    """Text or thoughts while they arrive; `field` is where the server put thoughts."""

    id: str
    field: str = ""
    pieces: list[str] = dataclass_field(default_factory=list)


@dataclass(slots=True)
class _Call:
    """A call while it arrives. `id` is ours from the moment that it is shown."""

    theirs: str = ""
    id: str = ""
    name: str = ""
    pieces: list[str] = dataclass_field(default_factory=list)
    shown: bool = False


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
        return ModelFinished([self._block(part) for part in self._parts], reason, self.model, self._usage, details)

    def metered(self) -> AnswerMetered:
        """Return what is known of the answer so far."""
        return AnswerMetered(self.model, dict(self._usage), dict(self.identity))

    def _block(self, part: _Text | _Call) -> dict[str, Any]:
        if isinstance(part, _Call):
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": input_of("".join(part.pieces))}
        text = "".join(part.pieces)
        return (
            {"type": "thinking", "thinking": text, "field": part.field}
            if part.field
            else {"type": "text", "text": text}
        )

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[Event]:
        # A server may send the same thoughts under both names.
        thoughts = next((name for name in THOUGHTS if isinstance(delta.get(name), str) and delta[name]), "")
        if thoughts:
            yield from self._say(thoughts, delta[thoughts])
        for name in ("content", "refusal"):
            if isinstance(delta.get(name), str) and delta[name]:
                self._refused |= name == "refusal"
                yield from self._say("", delta[name])
        pieces = delta.get("tool_calls") or []
        if not isinstance(pieces, list) or not all(isinstance(piece, dict) for piece in pieces):
            raise Malformed
        for piece in pieces:
            yield from self._end_text()
            yield from self._call_piece(piece)

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

    def _call_piece(self, piece: Mapping[str, Any]) -> Iterator[Event]:
        """Take a piece of a call: the first has its id and name, the others parts of its input."""
        function = piece.get("function") or {}
        if not isinstance(function, dict):
            raise Malformed
        call = self._call_of(piece.get("index"), str(piece.get("id") or ""))
        if not call.shown:
            # Some servers repeat the name in every piece.
            call.name = call.name or str(function.get("name") or "")
        text = function.get("arguments")
        if isinstance(text, str) and text:
            call.pieces.append(text)
        elif isinstance(text, dict):
            raise Malformed
        if call.shown and isinstance(text, str) and text:
            yield ToolInputDelta(call.id, text)
        elif not call.shown and call.name and call.theirs:
            yield from self._show(call)

    def _call_of(self, index: Any, theirs: str) -> _Call:
        """Return the call that a piece belongs to. Some servers send no index, or the same index for all calls."""
        calls = self._calls
        if isinstance(index, int):
            call = self._at.get(index)
        else:
            # Without an id, the piece belongs to the last call.
            call = next((known for known in reversed(calls) if theirs in ("", known.theirs)), None)
        if call is None or (theirs and call.theirs and theirs != call.theirs):
            call = _Call()
            self._parts.append(call)
        if isinstance(index, int):
            self._at[index] = call
        call.theirs = call.theirs or theirs
        return call

    def _show(self, call: _Call) -> Iterator[Event]:
        call.id = unused_id(call.theirs, self._used)
        call.name = self._names.get(call.name, call.name)
        call.shown = True
        yield ToolInputStarted(call.id, call.name)
        for text in call.pieces:
            yield ToolInputDelta(call.id, text)

    def _end(self) -> Iterator[Event]:
        yield from self._end_text()
        for call in self._calls:
            if not call.shown:
                yield from self._show(call)
            yield ToolInputReady(call.id, call.name, input_of("".join(call.pieces)))

    def _count(self, usage: Any) -> bool:
        """Take the usage; return whether there is any."""
        if isinstance(usage, dict):
            self._usage = counted(usage, "prompt_tokens", "completion_tokens")
        return isinstance(usage, dict)
