"""What the chat page and its pushes show alike: messages as readable parts, with the cards of what was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from approvals.cards import Card, card_for, pretty
from approvals.models import ApprovalRequest
from approvals.states import Door
from chats.models import Message
from chats.projection import PAGE_CONTEXT

TOOL_WORDS = {
    "input-available": "at work",
    "approval-requested": "waits for approval",
    "approval-responded": "approved, about to run",
    "output-available": "done",
    "output-error": "failed",
    "output-denied": "denied",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartView:
    """One part of a message: `kind` is text, reasoning, tool, context (what the client's page sent along) or other.

    `card` is the request that a tool part waits on.
    """

    kind: str
    text: str = ""
    tool: str = ""
    state: str = ""
    input_json: str = ""
    output_json: str = ""
    error: str = ""
    card: Card | None = None

    @property
    def words(self) -> str:
        if self.card is not None and self.card.request.pending and self.state == "input-available":
            return "waits for an answer"
        return TOOL_WORDS.get(self.state, self.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView:
    message: Message
    parts: Sequence[PartView]


def call_ids(messages: Sequence[Message]) -> list[str]:
    """The tool calls in these messages."""
    return [part["toolCallId"] for message in messages for part in message.parts if "toolCallId" in part]


def message_views(
    user: User, messages: Sequence[Message], requests: Mapping[str, ApprovalRequest]
) -> list[MessageView]:
    return [
        MessageView(message=message, parts=[part_view(part, _card(user, part, requests)) for part in message.parts])
        for message in messages
    ]


def part_view(part: Mapping[str, Any], card: Card | None = None) -> PartView:
    """A stored UIMessage part as the page shows it."""
    kind = str(part.get("type", ""))
    if kind in {"text", "reasoning"}:
        return PartView(kind=kind, text=str(part.get("text", "")))
    if kind == PAGE_CONTEXT:
        return PartView(kind="context", input_json=pretty(part.get("data")))
    if not kind.startswith("tool-"):
        return PartView(kind="other")
    return PartView(
        kind="tool",
        tool=kind.removeprefix("tool-"),
        state=str(part.get("state", "")),
        input_json=pretty(part.get("input")),
        output_json=pretty(part["output"]) if "output" in part else "",
        error=str(part.get("errorText", "")),
        card=card,
    )


def _card(user: User, part: Mapping[str, Any], requests: Mapping[str, ApprovalRequest]) -> Card | None:
    found = requests.get(str(part.get("toolCallId", "")))
    return card_for(user, found, door=Door.CHAT) if found is not None else None
