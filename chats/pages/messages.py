"""Messages for the chat page and its pushes: readable parts, with the cards of requests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from approvals.access.standing import Standing
from approvals.asking.secrets import masked_input
from approvals.models import ApprovalRequest
from approvals.pages.cards import Card, card_for
from approvals.queries.results import ShownResult
from approvals.states import Door
from approvals.text.file_references import FileReference, reference_of, references_in
from approvals.text.secrets import mask_text
from approvals.text.tables import pretty
from chats.models import Message
from chats.queries.projection import CLOSINGS, PAGE_CONTEXT
from chats.queries.sources import SERVER_TOOL, SOURCE_DOCUMENT, SOURCE_URL, safe_url
from chats.queries.values import REMARK, TOLD, words_of

TOOL_WORDS = {
    "input-available": _("running"),
    "approval-requested": _("waiting for approval"),
    "approval-responded": _("approved, not run yet"),
    "output-available": _("done"),
    "output-error": _("failed"),
    "output-denied": _("denied"),
}


@dataclass(frozen=True, slots=True)
class SourceLink:
    """An external page. `url` is "" for a document without an address."""

    url: str
    title: str

    @property
    def host(self) -> str:
        """The host, shown because a title may say anything."""
        return urlsplit(self.url).hostname or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartView:
    """One part of a message.

    `kind` is text, reasoning, tool, remark, source, server-tool (run by the model's provider), context (page context from the
    client), file or other.

    `card` is the request of a tool call.
    """

    kind: str
    text: str = ""
    tool: str = ""
    state: str = ""
    input_json: str = ""
    output_json: str = ""
    error: str = ""
    card: Card | None = None
    #: The result of the approved call, if it was approved.
    result: ShownResult | None = None
    #: For a sub-agent: the id of its conversation, and the cards of its waiting requests.
    conversation: int | None = None
    below: Sequence[Card] = ()
    #: Pages that an answer cites, or that a tool of the provider found.
    links: Sequence[SourceLink] = ()
    #: The file in this part, or the files that a tool returned.
    files: Sequence[FileReference] = ()

    @property
    def version(self) -> str:
        """A value that changes with the cards or, without any, with the displayed content. Open pages keep equal parts."""
        cards = [card for card in (self.card, *self.below) if card is not None]
        if cards or self.conversation:
            return "-".join([*(card.version for card in cards), self.state])
        shown = (
            self.kind,
            self.text,
            self.tool,
            self.state,
            self.input_json,
            self.output_json,
            self.error,
        )
        text = repr((*shown, *self.links, *self.files))
        return hashlib.blake2b(
            text.encode("utf-8", "replace"), digest_size=8
        ).hexdigest()

    @property
    def state_label(self) -> str:
        waits = self.below or (self.card is not None and self.card.request.pending)
        if waits and self.state == "input-available":
            return gettext("waiting for an answer")
        return str(TOOL_WORDS.get(self.state, self.state))


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView:
    """A message and its parts; a `role` is that of who wrote it."""

    pk: int
    role: str
    parts: Sequence[PartView]


def call_ids(messages: Sequence[Message]) -> list[str]:
    """Return the ids of the tool calls in these messages."""
    return [
        part["toolCallId"]
        for message in messages
        for part in message.parts
        if "toolCallId" in part
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequests:
    """The requests of tool calls by toolCallId, and results by request.

    For sub-agents, their conversation and its waiting requests.
    """

    own: Mapping[str, ApprovalRequest]
    results: Mapping[UUID, ShownResult]
    conversations: Mapping[str, int]
    below: Mapping[str, Sequence[ApprovalRequest]]


def message_views(
    viewer: Standing, messages: Sequence[Message], requests: CallRequests
) -> list[MessageView]:
    return [
        MessageView(
            pk=message.pk,
            role=message.role,
            parts=[_part_with_cards(viewer, part, requests) for part in message.parts],
        )
        for message in messages
    ]


def _part_with_cards(
    viewer: Standing, part: Mapping[str, Any], requests: CallRequests
) -> PartView:
    call_id = str(part.get("toolCallId", ""))
    own = requests.own.get(call_id)
    if own is not None and own.secrets:
        part = {
            **part,
            **{
                name: masked_input(own, part[name])
                for name in ("input", "output")
                if name in part
            },
        }
    return replace(
        part_view(part),
        card=card_for(viewer, own, door=Door.CHAT) if own is not None else None,
        result=requests.results.get(own.pk) if own is not None else None,
        conversation=requests.conversations.get(call_id),
        below=[
            card_for(viewer, request, door=Door.CHAT)
            for request in requests.below.get(call_id, ())
        ],
    )


def part_view(part: Mapping[str, Any]) -> PartView:
    """Return a stored UIMessage part for display, without cards."""
    kind = str(part.get("type", ""))
    if kind == "text" and part.get("text") in CLOSINGS.values():
        # A remark explains it better.
        return PartView(kind="other")
    if kind in {"text", "reasoning"}:
        return PartView(kind=kind, text=mask_text(str(part.get("text", ""))))
    if kind == REMARK:
        remark = part.get("data") or {}
        return PartView(
            kind="remark",
            text=words_of(remark),
            state="" if remark.get("code") in TOLD else "info",
        )
    if kind in {SOURCE_URL, SOURCE_DOCUMENT}:
        link = SourceLink(safe_url(part.get("url")), str(part.get("title", "")))
        return PartView(kind="source", text=link.title, links=[link])
    if kind == SERVER_TOOL:
        return _server_tool(part["data"])
    if kind == PAGE_CONTEXT:
        return PartView(kind="context", input_json=pretty(part.get("data")))
    if (file := reference_of(part)) is not None:
        return PartView(kind="file", files=[file])
    if not kind.startswith("tool-"):
        return PartView(kind="other")
    return PartView(
        kind="tool",
        tool=kind.removeprefix("tool-"),
        state=str(part.get("state", "")),
        input_json=pretty(part.get("input")),
        output_json=pretty(part["output"]) if "output" in part else "",
        error=mask_text(str(part.get("errorText", ""))),
        files=references_in(part.get("output")),
    )


def _server_tool(data: Mapping[str, Any]) -> PartView:
    written = {
        name: data[name]
        for name in ("stdout", "stderr", "returnCode", "text", "tools")
        if name in data
    }
    name = ".".join(str(data[part]) for part in ("server", "name") if data.get(part))
    return PartView(
        kind="server-tool",
        text=name,
        tool=name,
        state="output-error" if "error" in data else "output-available",
        input_json=pretty(data.get("input")),
        output_json=pretty(written) if written else "",
        error=str(data.get("error", "")),
        links=[
            SourceLink(safe_url(result["url"]), result["title"])
            for result in data.get("results", ())
        ],
    )
