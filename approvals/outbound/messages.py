"""Render messages about waiting requests: titles, agents and links only, since anyone may read a mail.

The links to approve and to reject open a page that asks for a log-in and decides nothing by itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils.translation import gettext, ngettext

from approvals.access import permissions
from approvals.models import ApprovalRequest
from approvals.outbound.links import OFFERED, confirm_link
from approvals.queries.policy.ballots import Ballot, ballots_of
from approvals.states import Kind, Verdict
from approvals.text.secrets import mask_text

#: Requests listed in one message; for the rest it gives their number and a link.
NAMED = 20


class Mention(NamedTuple):
    """A request with a note that mentions someone, and who wrote it; or who decided it `alone`."""

    request: ApprovalRequest
    by: str
    alone: bool = False

    @property
    def title(self) -> str:
        """Return “bob mentioned you”, in one line."""
        title = gettext("%(name)s decided alone") if self.alone else gettext("%(name)s mentioned you")
        return title % {"name": _in_one_line(self.by)}


def mail(to: User, requests: Sequence[ApprovalRequest], mentions: Sequence[Mention] = ()) -> EmailMessage:
    """Return a plain text mail to one person, about requests that wait and about notes that mention them."""
    ballots = ballots_of(requests[:NAMED], to)
    lines = [_paragraph(request, to, ballots.get(request.pk)) for request in requests[:NAMED]]
    more = _more(requests)
    waiting = [f"{_count(requests)}:", "", *lines, *([more] if more else [])] if requests else []
    notes = [f"{mention.title}: {_line(mention.request)}\n{link(mention.request)}\n" for mention in mentions[:NAMED]]
    subject = f"[Pausepoint] {_subject(requests, mentions)}"
    return EmailMessage(
        subject=subject, body="\n".join([*notes, *waiting]), from_email=settings.DEFAULT_FROM_EMAIL, to=[to.email]
    )


def _subject(requests: Sequence[ApprovalRequest], mentions: Sequence[Mention]) -> str:
    if len(requests) + len(mentions) > 1:
        return counts(requests, mentions)
    return f"{mentions[0].title}: {_line(mentions[0].request)}" if mentions else _line(requests[0])


def _paragraph(request: ApprovalRequest, to: User, ballot: Ballot | None) -> str:
    """Return a waiting request in a mail: how far its votes are, and links for those who may decide it now."""
    votes = f"{progress_line(ballot)}\n" if ballot is not None else ""
    if ballot is not None and (absent := ballot.votes_for(to)):
        votes += _in_one_line(gettext("You vote for %(name)s, who is away.") % {"name": absent}) + "\n"
    offers = _offers(request, to) if ballot is None or ballot.admits(to) else ""
    return f"{_line(request)}\n{votes}{link(request)}\n{offers}"


def progress_line(ballot: Ballot) -> str:
    """Return “Votes: 1 of 2, finance missing”, in one line."""
    return _in_one_line(gettext("Votes: %(progress)s") % {"progress": ballot.words})


def counts(requests: Sequence[ApprovalRequest], mentions: Sequence[Mention]) -> str:
    """Return how many notes and requests a message is about."""
    alone = sum(mention.alone for mention in mentions)
    noted = len(mentions) - alone
    notes = ngettext("%(count)d note mentions you", "%(count)d notes mention you", noted)
    decided = ngettext("%(count)d request was decided alone", "%(count)d requests were decided alone", alone)
    counted = [message % {"count": count} for message, count in ((notes, noted), (decided, alone)) if count]
    return " · ".join([*counted, *([_count(requests)] if requests else [])])


def _offers(request: ApprovalRequest, to: User) -> str:
    """Return a line for each verdict that this person may confirm with a link."""
    if request.kind != Kind.APPROVAL or not permissions.may_close(to, request):
        return ""
    labels = {Verdict.APPROVE: gettext("Approve"), Verdict.REJECT: gettext("Reject")}
    return "".join(f"{labels[verdict]}: {confirm_link(request, to, verdict)}\n" for verdict in OFFERED)


def slack(requests: Sequence[ApprovalRequest]) -> bytes:
    """Return a message for an incoming webhook of Slack, which Mattermost and others take too."""
    ballots = ballots_of(requests[:NAMED])
    votes = {pk: f" {_escaped(progress_line(ballot))}" for pk, ballot in ballots.items()}
    lines = [f"• <{link(each)}|{_escaped(_line(each))}>{votes.get(each.pk, '')}" for each in requests[:NAMED]]
    more = _more(requests)
    text = "\n".join([f"{_count(requests)}:", *lines, *([_escaped(more)] if more else [])])
    return json.dumps({"text": text}, ensure_ascii=False).encode()


def link(request: ApprovalRequest) -> str:
    return settings.PUBLIC_URL + request.get_absolute_url()


def _count(requests: Sequence[ApprovalRequest]) -> str:
    message = ngettext("%(count)d request is waiting", "%(count)d requests are waiting", len(requests))
    return message % {"count": len(requests)}


def _more(requests: Sequence[ApprovalRequest]) -> str:
    left = len(requests) - NAMED
    message = ngettext("… and %(count)d more: %(url)s", "… and %(count)d more: %(url)s", left)
    return message % {"count": left, "url": settings.PUBLIC_URL + reverse("approvals:dashboard")} if left > 0 else ""


def _line(request: ApprovalRequest) -> str:
    """Return title and agent in one line: a line break would end the header of a mail."""
    line = f"{request.title} ({request.workflow.agent})" if request.workflow.agent else request.title
    return _in_one_line(mask_text(line))


def _in_one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _escaped(text: str) -> str:
    """Escape text for Slack, so that a title makes no link and mentions no one."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("|", "¦").replace("@", "@\u200b")
