"""Render messages about waiting requests: titles, agents and links only, since anyone may read a mail.

The links to approve and to reject open a page that asks for a log-in and decides nothing by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils.translation import gettext, ngettext

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.models import ApprovalRequest
from approvals.outbound.links import OFFERED, confirm_link
from approvals.outbound.mailing import mail_to
from approvals.queries.policy.ballots import Ballot, ballots_of
from approvals.states import Kind, Verdict
from approvals.text.secrets import mask_text

#: The names of rows in the outbox that tell people what concerns them by name. No program gets them.
MENTIONED, ALONE, UNDECIDABLE = "request.mentioned", "request.decided_alone", "request.no_one_may_decide"
#: What makes links, code, emphasis and columns, by what looks like it.
_LOOK_ALIKES = str.maketrans("|`*~[]\\", "¦\u02cb\u2217\u223c\uff3b\uff3d\uff3c")
#: Inside of a name, such as create_label, it means nothing.
_OUTER_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
#: What has a meaning with that which follows it, after the escapes of Slack.
_MEANT = re.compile(
    r"""
    @                               # mentions and addresses of mails
    | \#(?=\w) | \$                 # topics and formulas
    | :(?=\S)                       # names of emoji, emoticons and addresses
    | ;(?=-?\)) | &lt;(?=/?3)       # emoticons: "<3 days" would be a heart
    | (?<!\w)x(?=-d\b)
    | www(?=\.) | \.(?=[^\W\d_]+/)  # addresses without a scheme
    """,
    re.IGNORECASE | re.VERBOSE,
)
#: Requests listed in one message; for the rest it gives their number and a link.
NAMED = 20


class Mention(NamedTuple):
    """What someone is told of a request, by the name of its rows in the outbox, and who did it; empty for no one.

    Of one that is `hidden`, the reader may not see the title.
    """

    request: ApprovalRequest
    by: str
    name: str = MENTIONED
    hidden: bool = False

    @property
    def title(self) -> str:
        """Return “bob mentioned you”, in one line."""
        titles = {
            MENTIONED: gettext("%(name)s mentioned you"),
            ALONE: gettext("%(name)s decided alone"),
            UNDECIDABLE: gettext("No one may decide a request"),
        }
        return titles[self.name] % {"name": _in_one_line(self.by)}

    @property
    def line(self) -> str:
        """Return the title and that of the request, in one line."""
        return self.title if self.hidden else f"{self.title}: {_line(self.request)}"

    @property
    def path(self) -> str:
        """Return where to read more: the request, or the scopes that let no one decide it."""
        return reverse("approvals:scopes") if self.hidden else self.request.get_absolute_url()


def mail(
    to: User, standing: Standing, requests: Sequence[ApprovalRequest], mentions: Sequence[Mention] = ()
) -> EmailMessage:
    """Return a plain text mail to one person, about requests that wait and about notes that mention them."""
    ballots = ballots_of(requests[:NAMED], standing)
    lines = [_paragraph(request, to, standing, ballots.get(request.pk)) for request in requests[:NAMED]]
    more = _more(requests)
    waiting = [f"{_count(requests)}:", "", *lines, *([more] if more else [])] if requests else []
    notes = [f"{mention.line}\n{settings.PUBLIC_URL}{mention.path}\n" for mention in mentions[:NAMED]]
    subject = f"[Pausepoint] {_subject(requests, mentions)}"
    return mail_to(to.email, subject, "\n".join([*notes, *waiting]))


def _subject(requests: Sequence[ApprovalRequest], mentions: Sequence[Mention]) -> str:
    if len(requests) + len(mentions) > 1:
        return counts(requests, mentions)
    return mentions[0].line if mentions else _line(requests[0])


def _paragraph(request: ApprovalRequest, to: User, standing: Standing, ballot: Ballot | None) -> str:
    """Return a waiting request in a mail: how far its votes are, and links for those who may decide it now."""
    votes = f"{progress_line(ballot)}\n" if ballot is not None else ""
    if ballot is not None and (absent := ballot.votes_for(standing)):
        votes += _in_one_line(gettext("You vote for %(name)s, who is away.") % {"name": absent}) + "\n"
    offers = _offers(request, to, standing) if ballot is None or ballot.admits(standing) else ""
    return f"{_line(request)}\n{votes}{link(request)}\n{offers}"


def progress_line(ballot: Ballot) -> str:
    """Return “Votes: 1 of 2, finance missing”, in one line."""
    return _in_one_line(gettext("Votes: %(progress)s") % {"progress": ballot.words})


def counts(requests: Sequence[ApprovalRequest], mentions: Sequence[Mention]) -> str:
    """Return how many notes and requests a message is about."""
    noted, alone, stuck = (sum(each.name == name for each in mentions) for name in (MENTIONED, ALONE, UNDECIDABLE))
    notes = ngettext("%(count)d note mentions you", "%(count)d notes mention you", noted)
    decided = ngettext("%(count)d request was decided alone", "%(count)d requests were decided alone", alone)
    left = ngettext("%(count)d request no one may decide", "%(count)d requests no one may decide", stuck)
    of_each = ((notes, noted), (decided, alone), (left, stuck))
    counted = [message % {"count": count} for message, count in of_each if count]
    return " · ".join([*counted, *([_count(requests)] if requests else [])])


def _offers(request: ApprovalRequest, to: User, standing: Standing) -> str:
    """Return a line for each verdict that this person may confirm with a link."""
    if request.kind != Kind.APPROVAL or not permissions.may_close(standing, request):
        return ""
    labels = {Verdict.APPROVE: gettext("Approve"), Verdict.REJECT: gettext("Reject")}
    return "".join(f"{labels[verdict]}: {confirm_link(request, to, verdict)}\n" for verdict in OFFERED)


def slack(requests: Sequence[ApprovalRequest]) -> bytes:
    """Return a message for an incoming webhook of Slack, which Mattermost and others take too."""
    ballots = ballots_of(requests[:NAMED])
    votes = {pk: f" {plain(progress_line(ballot))}" for pk, ballot in ballots.items()}
    lines = [f"• <{link(each)}|{plain(_line(each))}>{votes.get(each.pk, '')}" for each in requests[:NAMED]]
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


def plain(text: str) -> str:
    """Return text that Slack, and servers with Markdown, show as text: a title makes no link and mentions no one.

    Slack knows no escapes, and Mattermost turns its links into Markdown. So what has a meaning for one of them is replaced by
    characters that look alike, or a space without a width stands behind it.
    """
    text = _escaped(text.translate(_LOOK_ALIKES))
    text = _OUTER_UNDERSCORE.sub("\uff3f", text)
    return _MEANT.sub("\\g<0>\u200b", text)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
