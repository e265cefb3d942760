"""Render cards as Slack's blocks. Texts of models and people are always `plain_text`, in which nothing is markup."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.channels.content import CardContent
from approvals.channels.dialogs import fields_of
from approvals.channels.messenger import ChannelMessage
from approvals.channels.slack.elements import actions, button, section, text_object
from approvals.json_types import JsonDict
from approvals.models import ApprovalRequest
from approvals.outbound.messages import count_words, plain
from approvals.text.text import in_one_line, visible


def card(request: ApprovalRequest, content: CardContent) -> ChannelMessage:
    """Return the message of a card."""
    about = [content.about, "" if content.ending else content.votes]
    texts = [text_object(text) for text in about if text]
    ending = [section(content.ending)] if content.ending else []
    buttons = [
        *_buttons(request, content),
        button("open", _("Open"), url=request.public_url),
    ]
    blocks = [
        {"type": "header", "text": text_object(content.title)},
        *(section(part) for part in content.parts if part.strip()),
        {"type": "context", "elements": texts},
        *ending,
        actions(*buttons),
    ]
    labels = [each["text"]["text"] for each in buttons]
    return ChannelMessage(plain(content.ending or content.title), blocks, labels)


def _buttons(request: ApprovalRequest, content: CardContent) -> list[JsonDict]:
    buttons: list[JsonDict] = []
    offered = set(content.answers)
    value = {"request": str(request.pk), "digest": request.voted_digest}
    if "approve" in offered:
        label = _("Approve…") if content.needs_message else _("Approve")
        buttons.append(button("approve", label, value=value, style="primary"))
    if "grant" in offered:
        buttons.append(button("grant", _("Approve for…"), value=value))
    if "option" in offered:
        for number, option in enumerate(content.options):
            label = in_one_line(visible(option))
            chosen = {**value, "option": number}
            buttons.append(button(f"option.{number}", label, value=chosen))
    if "edit" in offered and fields_of(request, "edit") is not None:
        buttons.append(button("edit", _("Approve with changes…"), value=value))
    if "answer" in offered and fields_of(request, "answer") is not None:
        buttons.append(button("answer", _("Answer…"), value=value, style="primary"))
    if "approve" in offered:
        buttons.append(button("reject", _("Reject…"), value=value, style="danger"))
    elif "reject" in offered:
        buttons.append(button("reject", _("Decline…"), value=value))
    return buttons


def digest(requests: Sequence[ApprovalRequest]) -> ChannelMessage:
    """Return one message about many waiting requests: only their number, because it is not rewritten when rights change."""
    words = count_words(requests)
    inbox = settings.PUBLIC_URL + reverse("approvals:dashboard")
    blocks = [section(words), actions(button("open", _("Open Inbox"), url=inbox))]
    return ChannelMessage(plain(words), blocks)


def test_card() -> ChannelMessage:
    """Return the card that shows that the connection works, and lets people link their accounts."""
    words = _("Pausepoint can post here. Requests appear as cards like this one.")
    link = button("link", _("Link my account"), value={})
    return ChannelMessage(plain(words), [section(words), actions(link)])


def line(text: str, link: str = "") -> ChannelMessage:
    """Return a line to one person, with a button that opens a link."""
    blocks = [section(text)]
    if link:
        blocks.append(actions(button("open", _("Link my account"), url=link)))
    return ChannelMessage(plain(text), blocks)
