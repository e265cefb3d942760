"""A Responses stream: events to show at once, and the answer in Anthropic's blocks. Pure.

A server is trusted only if it keeps to the protocol: items that are added and done, pieces that make up the following whole, and
an end. New kinds of events and items are ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from approvals.json_types import JsonMapping
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
from chats.providers.openai.answer import (
    Failed,
    Malformed,
    ModelResponse,
    counted,
    note,
    unused_id,
)
from chats.providers.openai.responses.items import (
    CONTENT,
    INPUT,
    KINDS,
    SEALED,
    SUMMARY,
    OutputItem,
    Part,
)

COMPLETED = "completed"
#: By COMPLETED, or by why the answer is incomplete.
STOP_REASONS = {
    COMPLETED: "end_turn",
    "max_output_tokens": "max_tokens",
    "content_filter": "refusal",
}
BEGINS = ("response.created", "response.in_progress", "response.queued")
ENDS = ("response.completed", "response.incomplete", "response.failed")
#: Events with a piece of an item: the item's kind, and the place of the piece in it.
PIECES = {
    "response.output_text.delta": ("message", CONTENT, "content_index"),
    "response.refusal.delta": ("message", CONTENT, "content_index"),
    "response.reasoning_summary_text.delta": ("reasoning", SUMMARY, "summary_index"),
    "response.reasoning_text.delta": ("reasoning", CONTENT, "content_index"),
    "response.function_call_arguments.delta": ("function_call", INPUT[0], ""),
}
#: The protocol's events that are read, which are validated.
EVENTS = frozenset(
    {
        "error",
        "response.output_item.added",
        "response.output_item.done",
        *BEGINS,
        *ENDS,
        *PIECES,
    }
)
#: Limits beyond any real answer: items, and characters of all its encrypted thoughts.
MAX_ITEMS = 1000
MAX_SEALED = 4_000_000


class StreamedAnswer(ModelResponse):
    """One answer of `model` while it arrives; its reason is COMPLETED, or why it is incomplete."""

    def __init__(
        self, model: str, names: Mapping[str, str], used: Collection[str] = ()
    ) -> None:
        super().__init__(model, names, used)
        self._items: dict[int, OutputItem] = {}
        self._sealed = 0

    @property
    def working(self) -> bool:
        """Models think before their first output, which the server reports without content."""
        return bool(self._items)

    def take(self, raw: Any) -> Iterator[Event]:
        # Data after the end belongs to no answer.
        if self.complete:
            return
        match raw:
            case {
                "type": "response.output_item.added",
                "output_index": int(index),
                "item": dict(item),
            }:
                yield from self._add(index, item)
            case {
                "type": "response.output_item.done",
                "output_index": int(index),
                "item": dict(item),
            }:
                yield from self._finish(index, item)
            case {
                "type": str(kind),
                "output_index": int(index),
                "delta": str(text),
            } if kind in PIECES:
                yield from self._piece(kind, index, raw, text)
            case {"type": str(kind), "response": dict(response)} if kind in BEGINS:
                if note(self.identity, response):
                    yield self.metered()
            case {"type": str(kind), "response": dict(response)} if kind in ENDS:
                yield from self._end(kind.removeprefix("response."), response)
            case {"type": "error"}:
                raise Failed(raw.get("code"), raw.get("message"))
            case {"type": str(kind)} if kind not in EVENTS:
                pass
            case _:
                raise Malformed

    def finished(self) -> ModelFinished:
        reason = STOP_REASONS.get(self.reason, "unknown")
        details = {}
        items = [item for _, item in sorted(self._items.items())]
        if reason == "unknown":
            details = {"reason": self.reason}
        elif reason == "refusal" or any(item.refused for item in items):
            reason = "refusal"
            details = {"type": "refusal"}
        elif reason == "end_turn" and any(
            item.kind == "function_call" for item in items
        ):
            reason = "tool_use"
        blocks = [block for item in items for block in item.blocks()]
        return ModelFinished(blocks, reason, self.model, self._usage, details)

    def _add(self, index: int, raw: JsonMapping) -> Iterator[Event]:
        if index in self._items or len(self._items) >= MAX_ITEMS:
            raise Malformed
        match raw:
            case {
                "type": "function_call",
                "call_id": str(theirs),
                "name": str(name),
            } if theirs and name:
                call_id = unused_id(theirs, self._used)
                item = OutputItem(
                    "function_call", call_id, theirs, self._names.get(name, name)
                )
                self.begun = True
                yield ToolInputStarted(item.call_id, item.name)
            case {"type": str(kind)} if kind != "function_call":
                item = OutputItem(kind)
            case _:
                raise Malformed
        self._items[index] = item

    def _piece(
        self, kind: str, index: int, raw: JsonMapping, text: str
    ) -> Iterator[Event]:
        """Process a piece of an item that has been added and is not done."""
        item_kind, place, at = PIECES[kind]
        number = raw.get(at) if at else 0
        item = self._items.get(index)
        if (
            item is None
            or item.done
            or item.kind != item_kind
            or not isinstance(number, int)
        ):
            raise Malformed
        item.refused |= kind == "response.refusal.delta"
        yield from self._say(index, item, (place, number), text)

    def _say(
        self, index: int, item: OutputItem, part: Part, text: str
    ) -> Iterator[Event]:
        """Add to a part of an item, and show it."""
        if not text:
            return
        self.begun = True
        before = item.shown
        item.shown = part
        item.pieces.setdefault(part, []).append(text)
        match item.kind:
            case "function_call":
                yield ToolInputDelta(item.call_id, text)
            case "reasoning":
                if before is None:
                    yield ReasoningStarted(f"thinking-{index}")
                yield ReasoningDelta(
                    f"thinking-{index}",
                    text if before in (None, part) else f"\n\n{text}",
                )
            case _:
                if before != part:
                    if before is not None:
                        yield TextEnded(_text_id(index, before))
                    yield TextStarted(_text_id(index, part))
                yield TextDelta(_text_id(index, part), text)

    def _finish(self, index: int, raw: JsonMapping) -> Iterator[Event]:
        if index not in self._items:
            yield from self._add(index, raw)
        item = self._items[index]
        for part, text in item.finish(raw).items():
            yield from self._say(index, item, part, text)
        self._sealed += len(item.kept.get(SEALED, ""))
        if self._sealed > MAX_SEALED:
            raise Malformed
        yield from self._close(index, item)

    def _close(self, index: int, item: OutputItem) -> Iterator[Event]:
        item.done = True
        if item.kind == "function_call":
            yield ToolInputReady(item.call_id, item.name, item.input)
        elif item.shown is not None:
            reasons = item.kind == "reasoning"
            yield (
                ReasoningEnded(f"thinking-{index}")
                if reasons
                else TextEnded(_text_id(index, item.shown))
            )

    def _end(self, status: str, response: JsonMapping) -> Iterator[Event]:
        """Process the end of the answer, and the server's data about it."""
        if response.get("status") not in (None, status):
            raise Malformed
        usage = response.get("usage")
        if isinstance(usage, dict):
            self._usage = counted(usage, "input_tokens", "output_tokens")
        note(self.identity, response)
        yield self.metered()
        if status == "failed":
            error = response.get("error")
            raise (
                Failed(error.get("code"), error.get("message"))
                if isinstance(error, dict)
                else Failed("", "")
            )
        unfinished = [
            (index, item)
            for index, item in self._items.items()
            if item.kind in KINDS and not item.done
        ]
        if status == COMPLETED and unfinished:
            raise Malformed
        for index, item in unfinished:
            yield from self._close(index, item)
        withheld = response.get("input_transformations")
        self.thoughts_refused = any(
            map(_is_withheld, withheld if isinstance(withheld, list) else ())
        )
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        whole = (
            status == COMPLETED
            or not isinstance(reason, str)
            or reason in ("", COMPLETED)
        )
        self.reason = status if whole else str(reason)


def _text_id(index: int, part: Part) -> str:
    return f"text-{index}-{part[1]}"


def _is_withheld(change: Any) -> bool:
    """Return whether a model was not shown an available thought: some leave out those of earlier turns."""
    return (
        isinstance(change, dict)
        and change.get("action") == "removed"
        and change.get("reason") != "turn_boundary"
    )
