"""Render messages about waiting requests: only titles, agents and links, since anyone may read a mail.

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
from approvals.json_types import JsonDict
from approvals.models import ApprovalRequest
from approvals.outbound.links import OFFERED, confirm_link
from approvals.outbound.mailing import mail_to
from approvals.queries.policy.votes.ballots import Ballot, ballots_of
from approvals.states import Kind, Verdict
from approvals.text.secrets import mask_text
from approvals.text.text import in_one_line

#: Names of outbox rows for people who are concerned by name. Programs never get them.
MENTIONED = "request.mentioned"
ALONE = "request.decided_alone"
UNDECIDABLE = "request.no_one_may_decide"
#: Characters of links, code, emphasis and columns, with lookalikes.
_LOOK_ALIKES = str.maketrans("|`*~[]\\", "¦\u02cb\u2217\u223c\uff3b\uff3d\uff3c")
#: Inside a name such as create_label, an underscore has no meaning.
_OUTER_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
#: Characters that have a meaning together with the next one, after Slack's escapes.
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
#: Maximum number of requests listed in a message; the rest become a count and a link.
NAMED = 20


class Mention(NamedTuple):
    """A notice about a request. `name` is that of its outbox rows; `by` is the person who caused it, empty for no one.

    If it is `hidden`, the reader may not see the title.
    """

    request: ApprovalRequest
    by: str
    name: str = MENTIONED
    hidden: bool = False

    @property
    def title(self) -> str:
        """Return “bob mentioned you”, on one line."""
        titles = {
            MENTIONED: gettext("%(name)s mentioned you"),
            ALONE: gettext("%(name)s used break-glass access"),
            UNDECIDABLE: gettext("No one may decide a request"),
        }
        return titles[self.name] % {"name": in_one_line(self.by)}

    @property
    def line(self) -> str:
        """Return the notice's title and that of the request, on one line."""
        return self.title if self.hidden else f"{self.title}: {_line(self.request)}"

    @property
    def path(self) -> str:
        """Return the path of the page to read more: the request, or the scopes that let no one decide it."""
        return (
            reverse("approvals:scopes")
            if self.hidden
            else self.request.get_absolute_url()
        )


def mail(
    to: User,
    standing: Standing,
    requests: Sequence[ApprovalRequest],
    mentions: Sequence[Mention] = (),
) -> EmailMessage:
    """Return a plain text mail to one person about waiting requests and mentions."""
    ballots = ballots_of(requests[:NAMED], [standing])
    return mail_to(
        to.email,
        "requests",
        subject=_subject(requests, mentions),
        mentions=mentions[:NAMED],
        requests=[
            _mail_row(request, to, standing, ballots.get(request.pk))
            for request in requests[:NAMED]
        ],
        count=count_words(requests),
        more=_more(requests),
    )


def _subject(requests: Sequence[ApprovalRequest], mentions: Sequence[Mention]) -> str:
    if len(requests) + len(mentions) > 1:
        return counts(requests, mentions)
    return mentions[0].line if mentions else _line(requests[0])


def _mail_row(
    request: ApprovalRequest, to: User, standing: Standing, ballot: Ballot | None
) -> JsonDict:
    """Return a waiting request for a mail: its votes, and links if this person may decide it now."""
    row: JsonDict = {"line": _line(request), "link": link(request)}
    if ballot is not None:
        row["votes"] = progress_line(ballot)
        row["absent"] = in_one_line(ballot.votes_for(standing))
    if ballot is None or ballot.admits(standing):
        row["offers"] = _offers(request, to, standing)
    return row


def progress_line(ballot: Ballot) -> str:
    """Return “Votes: 1 of 2, finance missing”, on one line."""
    return in_one_line(gettext("Votes: %(progress)s") % {"progress": ballot.words})


def counts(requests: Sequence[ApprovalRequest], mentions: Sequence[Mention]) -> str:
    """Return the numbers of notes and requests in a message."""
    noted, alone, stuck = (
        sum(each.name == name for each in mentions)
        for name in (MENTIONED, ALONE, UNDECIDABLE)
    )
    notes = ngettext(
        "%(count)d note mentions you", "%(count)d notes mention you", noted
    )
    decided = ngettext(
        "%(count)d request was decided with break-glass access",
        "%(count)d requests were decided with break-glass access",
        alone,
    )
    left = ngettext(
        "%(count)d request no one may decide",
        "%(count)d requests no one may decide",
        stuck,
    )
    of_each = ((notes, noted), (decided, alone), (left, stuck))
    counted = [message % {"count": count} for message, count in of_each if count]
    return " · ".join([*counted, *([count_words(requests)] if requests else [])])


def _offers(
    request: ApprovalRequest, to: User, standing: Standing
) -> list[tuple[str, str]]:
    """Return a label and a link for each verdict that this person may confirm through a link."""
    if request.kind != Kind.APPROVAL or not permissions.may_close(standing, request):
        return []
    labels = {Verdict.APPROVE: gettext("Approve"), Verdict.REJECT: gettext("Reject")}
    return [
        (labels[verdict], confirm_link(request, to, verdict)) for verdict in OFFERED
    ]


def slack(requests: Sequence[ApprovalRequest]) -> bytes:
    """Return a message for a Slack incoming webhook, which Mattermost and others accept too."""
    ballots = ballots_of(requests[:NAMED])
    votes = {pk: f" {plain(progress_line(ballot))}" for pk, ballot in ballots.items()}
    lines = [
        f"• <{link(each)}|{plain(_line(each))}>{votes.get(each.pk, '')}"
        for each in requests[:NAMED]
    ]
    more = _more(requests)
    text = "\n".join(
        [f"{count_words(requests)}:", *lines, *([_escaped(more)] if more else [])]
    )
    return json.dumps({"text": text}, ensure_ascii=False).encode()


def link(request: ApprovalRequest) -> str:
    return settings.PUBLIC_URL + request.get_absolute_url()


def count_words(requests: Sequence[ApprovalRequest]) -> str:
    """Return “3 requests are waiting”."""
    message = ngettext(
        "%(count)d request is waiting", "%(count)d requests are waiting", len(requests)
    )
    return message % {"count": len(requests)}


def _more(requests: Sequence[ApprovalRequest]) -> str:
    left = len(requests) - NAMED
    message = ngettext(
        "… and %(count)d more: %(url)s", "… and %(count)d more: %(url)s", left
    )
    return (
        message
        % {"count": left, "url": settings.PUBLIC_URL + reverse("approvals:dashboard")}
        if left > 0
        else ""
    )


def _line(request: ApprovalRequest) -> str:
    """Return title and agent on one line, since a line break would end a mail header."""
    line = (
        f"{request.title} ({request.workflow.agent})"
        if request.workflow.agent
        else request.title
    )
    return in_one_line(mask_text(line))


def plain(text: str) -> str:
    """Return text that Slack, and servers with Markdown, display literally: a title makes no link and mentions no one.

    Slack has no escapes, and Mattermost turns Slack's links into Markdown. So special characters are replaced by lookalikes, or
    followed by a zero-width space.
    """
    text = _escaped(text.translate(_LOOK_ALIKES))
    text = _OUTER_UNDERSCORE.sub("\uff3f", text)
    return _MEANT.sub("\\g<0>\u200b", text)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
