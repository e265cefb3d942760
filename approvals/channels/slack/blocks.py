"""Render cards as Slack's blocks. Texts of models and people are always `plain_text`, in which nothing is markup."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.channels.content import MAX_PART, CardContent, cut
from approvals.channels.dialogs import fields_of
from approvals.channels.messenger import ChannelMessage
from approvals.json_types import JsonDict
from approvals.models import ApprovalRequest
from approvals.outbound.messages import NAMED, count_words, plain
from approvals.text.text import in_one_line, visible

#: The block with the buttons, and the prefix of its actions.
BLOCK = "pausepoint"
MAX_BUTTON = 75


def text_object(text: str) -> JsonDict:
    return {"type": "plain_text", "text": text or " ", "emoji": False}


def section(text: str) -> JsonDict:
    return {"type": "section", "text": text_object(text)}


def context(*texts: str) -> JsonDict:
    return {
        "type": "context",
        "elements": [text_object(text) for text in texts if text],
    }


def link_button(action: str, label: str, url: str) -> JsonDict:
    return {
        "type": "button",
        "action_id": f"{BLOCK}.{action}",
        "text": text_object(cut(label, MAX_BUTTON)),
        "url": url,
    }


def actions(*elements: JsonDict) -> JsonDict:
    return {"type": "actions", "block_id": BLOCK, "elements": list(elements)}


def card(request: ApprovalRequest, content: CardContent) -> ChannelMessage:
    """Return the message of a card."""
    about = context(content.about, "" if content.ending else content.votes)
    ending = [section(content.ending)] if content.ending else []
    buttons = [
        *_buttons(request, content),
        link_button("open", _("Open"), request.public_url),
    ]
    blocks = [
        {"type": "header", "text": text_object(content.title)},
        *(section(part) for part in content.parts if part.strip()),
        about,
        *ending,
        actions(*buttons),
    ]
    labels = [button["text"]["text"] for button in buttons]
    return ChannelMessage(plain(content.ending or content.title), blocks, labels)


def _buttons(request: ApprovalRequest, content: CardContent) -> list[JsonDict]:
    buttons: list[JsonDict] = []
    offered = set(content.answers)
    subject = {"request": str(request.pk), "digest": request.voted_digest}
    if "approve" in offered:
        label = _("Approve…") if content.needs_message else _("Approve")
        buttons.append(_button("approve", label, subject, style="primary"))
    if "option" in offered:
        buttons += [
            _button(
                f"option.{number}",
                in_one_line(visible(label)),
                {**subject, "option": number},
            )
            for number, label in enumerate(content.options)
        ]
    if "edit" in offered and fields_of(request, "edit") is not None:
        buttons.append(_button("edit", _("Approve with changes…"), subject))
    if "answer" in offered and fields_of(request, "answer") is not None:
        buttons.append(_button("answer", _("Answer…"), subject, style="primary"))
    if "reject" in offered:
        approval = "approve" in offered
        label = _("Reject…") if approval else _("Decline…")
        style = {"style": "danger"} if approval else {}
        buttons.append(_button("reject", label, subject, **style))
    return buttons


def _button(action: str, label: str, value: JsonDict, **more: Any) -> JsonDict:
    return {
        "type": "button",
        "action_id": f"{BLOCK}.{action}",
        "text": text_object(label),
        "value": json.dumps(value),
        **more,
    }


def digest(requests: Sequence[ApprovalRequest]) -> ChannelMessage:
    """Return one message about many waiting requests."""
    words = count_words(requests)
    titles = [f"• {in_one_line(visible(each.title))}" for each in requests[:NAMED]]
    inbox = settings.PUBLIC_URL + reverse("approvals:dashboard")
    blocks = [
        section(words),
        section(cut("\n".join(titles), MAX_PART)),
        actions(link_button("open", _("Open Inbox"), inbox)),
    ]
    return ChannelMessage(plain(words), blocks)


def test_card() -> ChannelMessage:
    """Return the card that shows that the connection works, and lets people link their accounts."""
    words = _("Pausepoint can post here. Requests appear as cards like this one.")
    link = {"type": "button", "action_id": f"{BLOCK}.link", "value": "{}"}
    link["text"] = text_object(_("Link my account"))  # type: ignore[assignment]
    return ChannelMessage(plain(words), [section(words), actions(link)])


def line(text: str, link: str = "") -> ChannelMessage:
    """Return a line to one person, with a button that opens a link."""
    blocks = [section(cut(text, MAX_PART))]
    if link:
        blocks.append(actions(link_button("open", _("Link my account"), link)))
    return ChannelMessage(plain(text), blocks)
