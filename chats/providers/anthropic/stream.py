"""Anthropic's Messages stream: events to show at once, and the content blocks exactly as returned. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from approvals.db.canonical_json import clean_text, join_halves
from approvals.json_types import JsonDict
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
from chats.providers.anthropic.history import FALLBACK, SUMMARY
from chats.providers.anthropic.usage import counts_beside, counts_of, served_by
from chats.providers.inputs import input_of
from chats.providers.scrubbing import scrub, scrub_ids, scrub_json

#: Every stop reason of the API; any other becomes "unknown" (`chats.agent.provider.STOP_REASONS`).
STOP_REASONS = frozenset(
    {
        "end_turn",
        "tool_use",
        "max_tokens",
        "stop_sequence",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
    }
)
MAX_DETAILS = 10

#: The events of the protocol, which are validated. Others are new, and ignored.
EVENTS = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
    }
)


class StreamBroken(Exception):
    """The stream ended, or became unreadable, before the API gave the stop reason."""


class StreamedAnswer:
    """One answer of `model` while it arrives: `begun` with its first block, `complete` after its stop reason.

    The API's data about it is kept without `secrets`. Blocks of unknown types are kept, and unknown events and deltas ignored,
    because the API adds new ones. Malformed known ones break the stream.
    """

    def __init__(self, model: str, secrets: Sequence[str] = ()) -> None:
        self.begun = False
        self.stop_reason = ""
        self.stop_details: JsonDict = {}
        self.model = model
        #: From the headers of the response.
        self.request_id = ""
        self._secrets = secrets
        self._identity: JsonDict = {}
        self.usage: dict[str, int] = {}
        self._usage_beside: dict[str, int] = {}
        self._fallback: JsonDict = {}
        self._blocks: dict[int, JsonDict] = {}
        self._json: dict[int, list[str]] = {}
        self._open: set[int] = set()

    @property
    def complete(self) -> bool:
        return bool(self.stop_reason)

    def take(self, raw: JsonDict) -> Iterator[Event]:
        """Process one raw event; yield its events for display. Raise StreamBroken."""
        try:
            yield from self._take(raw)
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
            # A value somewhere in a known event has the wrong type, or is nested without end.
            raise StreamBroken from None

    def _take(self, raw: JsonDict) -> Iterator[Event]:
        match raw:
            case {"type": "message_start", "message": dict(message)}:
                self._identity = {
                    "model": message.get("model"),
                    "message_id": message.get("id"),
                }
                self._take_container(message)
                self._count(message.get("usage"))
                yield self._metered()
            case {
                "type": "content_block_start",
                "index": int(index),
                "content_block": {"type": str()} as block,
            }:
                yield from self._start(index, dict(block))
            case {
                "type": "content_block_delta",
                "index": int(index),
                "delta": {"type": str()} as delta,
            }:
                if index in self._open:
                    yield from self._delta(index, delta)
            case {"type": "content_block_stop", "index": int(index)}:
                if index in self._open:
                    yield from self._stop(index)
            case {"type": "message_delta", "delta": dict(delta)}:
                yield from self._end(delta, raw.get("usage"))
            case {"type": str(kind)} if kind not in EVENTS:
                pass
            case _:
                raise StreamBroken

    def _end(self, delta: JsonDict, usage: Any) -> Iterator[Event]:
        """Process the stop reason."""
        self._count(usage)
        self._take_container(delta)
        yield self._metered()
        reason = delta.get("stop_reason")
        if not reason:
            return
        known = reason in STOP_REASONS
        details = delta.get("stop_details")
        if isinstance(details, dict):
            known_details = {
                name: value
                for name, value in list(details.items())[:MAX_DETAILS]
                if value is not None
            }
            self.stop_details = scrub_json(known_details, self._secrets)
        if not known:
            self.stop_details["reason"] = scrub(str(reason), self._secrets)
        for index in sorted(self._open):
            yield from self._stop(index)
        # Last, because an event that breaks the stream does not complete the answer.
        self.stop_reason = reason if known else "unknown"

    def finished(
        self, prefix: str = "", more_details: JsonDict | None = None
    ) -> ModelFinished:
        """Return the whole answer, made under `prefix`.

        A thought with characters that databases cannot store is left out: changing it would break its signature.
        """
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        kept = [
            block
            for block in blocks
            if clean_text(str(block.get("thinking", ""))) == block.get("thinking", "")
        ]
        fallback = (
            {FALLBACK: scrub_json(self._fallback, self._secrets)}
            if self._fallback
            else {}
        )
        details = self.stop_details | fallback | (more_details or {})
        return ModelFinished(
            kept,
            self.stop_reason,
            self.model,
            self._whole_usage(),
            details,
            prefix,
            self.answered_by,
        )

    @property
    def answered_by(self) -> dict[str, str]:
        """The origin of the answer so far; see `ModelFinished.answered_by`."""
        return scrub_ids(self._secrets, **self._identity, request_id=self.request_id)

    def _metered(self) -> AnswerMetered:
        return AnswerMetered(self.model, self._whole_usage(), self.answered_by)

    def _whole_usage(self) -> dict[str, int]:
        return self.usage | {
            name: self.usage.get(name, 0) + amount
            for name, amount in self._usage_beside.items()
        }

    def _count(self, usage: Any) -> None:
        # The numbers are cumulative, so the last one is right.
        if isinstance(usage, dict):
            self.usage |= counts_of(usage)
            self._usage_beside = counts_beside(usage) or self._usage_beside
            if usage.get("service_tier"):
                self._identity["service_tier"] = usage["service_tier"]
            if (served := served_by(usage)) and not self._fallback:
                # The API remembers for a while that a model has refused, and asks the other one at once.
                self._hand_over(self.model, served)

    def _take_container(self, message: JsonDict) -> None:
        """Store the container in which the API runs code."""
        match message.get("container"):
            case {"id": str(container)}:
                self._identity["container"] = container

    def _hand_over(self, before: str, now: str, trigger: Any = None) -> None:
        """Note that another model continues because the previous one refused."""
        category = trigger.get("category") if isinstance(trigger, dict) else None
        reason = {"category": category} if category else {}
        self._fallback = {"before": before} | self._fallback | {"now": now} | reason
        self._identity["model"] = now

    def _start(self, index: int, block: JsonDict) -> Iterator[Event]:
        if index in self._blocks:
            raise StreamBroken
        match block:
            case {"type": "text" | "thinking" as kind}:
                if not isinstance(block.setdefault(kind, ""), str):
                    raise StreamBroken
            case {"type": "tool_use"} if not (
                isinstance(block.get("id"), str) and isinstance(block.get("name"), str)
            ):
                raise StreamBroken
        self._blocks[index] = block
        self._open.add(index)
        self.begun = True
        match block:
            case {"type": "text", "text": str(text)}:
                yield TextStarted(f"text-{index}")
                if text:
                    yield TextDelta(f"text-{index}", text)
            case {"type": "thinking", "thinking": str(text)}:
                yield ReasoningStarted(f"thinking-{index}")
                if text:
                    yield ReasoningDelta(f"thinking-{index}", text)
            case {"type": "compaction"}:
                yield ReasoningStarted(f"summary-{index}")
            case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
                yield ToolInputStarted(call_id, name)
            case {
                "type": "fallback",
                "from": {"model": str(before)},
                "to": {"model": str(now)},
            }:
                self._hand_over(before, now, block.get("trigger"))

    def _delta(self, index: int, delta: JsonDict) -> Iterator[Event]:
        block = self._blocks[index]
        match delta:
            case {"type": "text_delta", "text": str(text)} if (
                block.get("type") == "text"
            ):
                block["text"] += text
                yield TextDelta(f"text-{index}", text)
            case {"type": "thinking_delta", "thinking": str(text)} if (
                block.get("type") == "thinking"
            ):
                block["thinking"] += text
                yield ReasoningDelta(f"thinking-{index}", text)
            case {"type": "signature_delta", "signature": str(signature)}:
                block["signature"] = block.get("signature", "") + signature
            case {"type": "compaction_delta"} if block.get("type") == SUMMARY:
                yield from self._add_to_summary(index, delta)
            case {"type": "citations_delta", "citation": citation}:
                block["citations"] = [*(block.get("citations") or []), citation]
            case {"type": "input_json_delta", "partial_json": str(text)}:
                self._json.setdefault(index, []).append(text)
                if text and block.get("type") == "tool_use":
                    yield ToolInputDelta(block.get("id", ""), text)
            case {
                "type": "text_delta"
                | "thinking_delta"
                | "signature_delta"
                | "input_json_delta"
            }:
                # A lost piece would change a text, or the input of a tool.
                raise StreamBroken

    def _add_to_summary(self, index: int, delta: JsonDict) -> Iterator[Event]:
        """Process a piece of a summary of old messages; people read it like a thought."""
        block = self._blocks[index]
        text = delta.get("content")
        sealed = delta.get("encrypted_content")
        if isinstance(text, str) and text:
            block["content"] = (block.get("content") or "") + text
            yield ReasoningDelta(f"summary-{index}", text)
        if isinstance(sealed, str):
            block["encrypted_content"] = sealed

    def _stop(self, index: int) -> Iterator[Event]:
        block = self._blocks[index]
        self._open.discard(index)
        text = "".join(self._json.pop(index, []))
        if text or block.get("type") == "tool_use":
            block["input"] = input_of(text, block.get("input"))
        match block:
            case {"type": "text"}:
                block["text"] = join_halves(block["text"])
                yield TextEnded(f"text-{index}")
            case {"type": "thinking"}:
                block["thinking"] = join_halves(block["thinking"])
                yield ReasoningEnded(f"thinking-{index}")
            case {"type": "compaction"}:
                # A failed summary, which the API accepts back only in this form.
                block["content"] = block.get("content") or None
                yield ReasoningEnded(f"summary-{index}")
            case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
                yield ToolInputReady(call_id, name, block["input"])
