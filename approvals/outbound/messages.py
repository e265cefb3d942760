"""The words of messages about requests that wait: titles, agents and links, and nothing that was asked or answered."""

from __future__ import annotations

import json
from collections.abc import Sequence

from django.conf import settings
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils.translation import ngettext

from approvals.models import ApprovalRequest

#: Requests named in one message; the rest is a number and a link to the desk.
NAMED = 20


def mail(to: str, requests: Sequence[ApprovalRequest]) -> EmailMessage:
    """A plain text mail to one person."""
    lines = [f"{_line(request)}\n{link(request)}\n" for request in requests[:NAMED]]
    more = _more(requests)
    text = "\n".join([f"{_count(requests)}:", "", *lines, *([more] if more else [])])
    subject = f"[Pausepoint] {_line(requests[0])}" if len(requests) == 1 else f"[Pausepoint] {_count(requests)}"
    return EmailMessage(subject=subject, body=text, from_email=settings.DEFAULT_FROM_EMAIL, to=[to])


def slack(requests: Sequence[ApprovalRequest]) -> bytes:
    """A message as Slack's incoming webhooks take it (Mattermost and others do, too)."""
    lines = [f"• <{link(request)}|{_escaped(_line(request))}>" for request in requests[:NAMED]]
    more = _more(requests)
    text = "\n".join([f"{_count(requests)}:", *lines, *([_escaped(more)] if more else [])])
    return json.dumps({"text": text}, ensure_ascii=False).encode()


def link(request: ApprovalRequest) -> str:
    return settings.PUBLIC_URL + request.get_absolute_url()


def _count(requests: Sequence[ApprovalRequest]) -> str:
    words = ngettext("%(count)d request is waiting", "%(count)d requests are waiting", len(requests))
    return words % {"count": len(requests)}


def _more(requests: Sequence[ApprovalRequest]) -> str:
    left = len(requests) - NAMED
    words = ngettext("… and %(count)d more: %(url)s", "… and %(count)d more: %(url)s", left)
    return words % {"count": left, "url": settings.PUBLIC_URL + reverse("approvals:dashboard")} if left > 0 else ""


def _line(request: ApprovalRequest) -> str:
    """Title and agent in one line: a line break would end a mail's header."""
    words = f"{request.title} ({request.workflow.agent})" if request.workflow.agent else request.title
    return " ".join("".join(char if char.isprintable() else " " for char in words).split())


def _escaped(text: str) -> str:
    """As text in Slack's markup: no link and no `<!channel>` of a title's own; the word `@all` alarms nobody."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("|", "¦").replace("@", "@\u200b")
