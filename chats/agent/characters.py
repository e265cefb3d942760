"""Whole characters in streamed texts: some gateways cut a text between the halves of a surrogate pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from chats.agent.events import (
    Event,
    ReasoningDelta,
    ReasoningEnded,
    TextDelta,
    TextEnded,
    ToolInputDelta,
    ToolInputInvalid,
    ToolInputReady,
)

FIRST_HALVES = ("\ud800", "\udbff")


class WholeCharacters:
    """Passes the events of one answer on. The first half of a character waits for the piece with the second one."""

    def __init__(self) -> None:
        #: By the text that ends with it: its kind of piece, and its id.
        self._halves: dict[tuple[type[Event], str], str] = {}

    def take(self, event: Event) -> Iterator[Event]:
        """Yield what can be passed on now."""
        match event:
            case TextDelta(text_id, text) | ReasoningDelta(text_id, text) | ToolInputDelta(text_id, text):
                whole = self._whole(type(event), text_id, text)
                if whole or not text:
                    yield replace(event, text=whole)
                return
            case TextEnded(text_id) if half := self._halves.pop((TextDelta, text_id), ""):
                yield TextDelta(text_id, half)
            case ReasoningEnded(text_id) if half := self._halves.pop((ReasoningDelta, text_id), ""):
                yield ReasoningDelta(text_id, half)
            case ToolInputReady(call_id) | ToolInputInvalid(call_id):
                if half := self._halves.pop((ToolInputDelta, call_id), ""):
                    yield ToolInputDelta(call_id, half)
        yield event

    def _whole(self, kind: type[Event], text_id: str, text: str) -> str:
        """Return a piece with the half that waited for it, and without the half that it ends with."""
        text = self._halves.pop((kind, text_id), "") + text
        if FIRST_HALVES[0] <= text[-1:] <= FIRST_HALVES[1]:
            self._halves[kind, text_id] = text[-1]
            return text[:-1]
        return text
