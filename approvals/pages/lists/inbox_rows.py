"""The rows of the inbox: a request in a few words, and whether it can be selected for a bulk decision."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.conf import settings as site_settings
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.access.usernames import shown_person
from approvals.asking.secrets import masked_input
from approvals.asking.titles import is_made, translated_title
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest, Decision
from approvals.pages.context import waiting_ballots
from approvals.pages.key_fields import key_values, read_beginning
from approvals.pages.lists.likeness import likeness_of
from approvals.pages.lists.short_times import brief
from approvals.queries.described import read_schema
from approvals.queries.policy.rules.policy_versions import (
    key_fields_under,
    rules_of_requests,
)
from approvals.queries.policy.votes.ballots import Ballot, CastVote, ballots_of
from approvals.queries.preferences import settings_of_tools
from approvals.queries.request_list import GIST, beginning_of_input
from approvals.queries.sections import VOTED, section_of
from approvals.states import (
    ASKS,
    Door,
    Kind,
    Priority,
    Status,
    outcome_label,
)
from approvals.text.names import marked_name
from approvals.text.secrets import mask_text
from approvals.text.text import visible
from approvals.text.translation import in_one_line, quoted

#: How many characters of an input are read to find the key fields chosen by an administrator.
MUCH = 8_000
#: How many characters of a question's message or of a comment a row shows.
CHARACTERS = 160
KIND_ICONS = {
    Kind.APPROVAL: "shield-check",
    Kind.QUESTION: "circle-question-mark",
    Kind.FORM: "clipboard-list",
    Kind.RECOVERY: "triangle-alert",
}
PRIORITY_ICONS = {
    Priority.CRITICAL: "octagon-alert",
    Priority.HIGH: "chevrons-up",
    Priority.LOW: "chevron-down",
}
STATUS_ICONS = {
    Status.APPROVED: "check",
    Status.ANSWERED: "check",
    Status.REJECTED: "x",
    Status.EXPIRED: "hourglass",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowAbout:
    """What a row shows of the request itself; a part whose text is empty is left out."""

    kind: str
    kind_label: str
    icon: str
    address: str
    title: str
    priority: str
    priority_label: str
    #: Normal has none.
    priority_icon: str
    values: Sequence[tuple[str, str]]
    #: The beginning of a question's message.
    message: str
    when: SafeString
    deadline: SafeString | str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOutcome:
    """How the request of a row ended: who decided what, in a few words."""

    status: str
    icon: str
    words: str
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowVotes:
    """How far the votes are, briefly and in words, and the verdict of the person's own; empty where there are none."""

    count: str
    progress: str
    own: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPeople:
    """Who asked, and whom it is assigned to: how they are shown, and the names of which the initials are made."""

    agent: str
    requested_by: str
    assigned_to: str
    assigned_name: str
    assigned_display: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """A row of `approvals/inbox/_rows.html`; `alike` are the rows that stand folded below it, and `picks` what they pick."""

    pk: str
    version: str
    section: str
    urgency: int
    classes: str
    #: How a bulk decision names it; empty if it is not decided so.
    pick: str
    about: RowAbout
    #: None while it waits.
    outcome: RowOutcome | None
    votes: RowVotes
    people: RowPeople
    alike: Sequence[ShownRow]
    picks: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRow:
    """A request in a list, from which its row is made; `pickable` if the person may decide it now in a bulk decision."""

    request: ApprovalRequest
    decision: Decision | None
    pickable: bool
    section: str
    values: Sequence[tuple[str, str]]
    address: str = ""
    #: Equal for requests that are merged into one row if there are many; None for one that always has its own.
    likeness: Hashable | None = None
    #: The votes, if it is decided by them.
    ballot: Ballot | None = None
    #: The person's vote, if it counts: the request then waits for others.
    voted: CastVote | None = None
    #: Similar rows of the page, folded below this one.
    alike: Sequence[InboxRow] = ()

    def seen_by(self, viewer: Standing) -> InboxRow:
        """Return the row with its personal parts for this viewer: the section, and their own vote."""
        ballot = self.ballot
        for_others = ballot is not None and ballot.waits_for_others(viewer)
        return replace(
            self,
            pickable=self.pickable and (ballot is None or ballot.admits(viewer)),
            section=VOTED if for_others else section_of(viewer, self.request),
            voted=None if ballot is None else ballot.standing_vote_of(viewer),
        )

    @property
    def picks(self) -> str:
        """The form value of this row and similar ones in a bulk decision; empty if they are not decided in bulk."""
        rows = [
            row
            for row in (self, *self.alike)
            if row.pickable and row.request.kind not in ASKS
        ]
        return " ".join(row.pick for row in rows) if len(rows) > 1 else ""

    @property
    def pick(self) -> str:
        """The form value of this row alone: the id, and the digest of the displayed input."""
        return f"{self.request.pk}:{self.request.voted_digest}"

    @property
    def version(self) -> str:
        """A value that changes whenever the request does."""
        return f"{self.request.status}-{self.request.changed_at.timestamp()}-{self.request.assigned_to_id or ''}"

    @property
    def shown(self) -> ShownRow:
        """What the template reads."""
        request = self.request
        made = " is-made" if is_made(request.title, request.tool_name) else ""
        return ShownRow(
            pk=str(request.pk),
            version=self.version,
            section=self.section,
            urgency=request.urgency,
            classes=f"urgency-{request.priority} is-{request.status}{made}{' is-voted' if self.section == VOTED else ''}",
            pick=self.pick if self.pickable else "",
            about=self._about(),
            outcome=None if request.pending else self._outcome(),
            votes=self._votes(),
            people=self._people(),
            alike=[other.shown for other in self.alike],
            picks=self.picks,
        )

    def _about(self) -> RowAbout:
        request = self.request
        kind = Kind(self.request.kind)
        priority = Priority(self.request.priority)
        return RowAbout(
            kind=kind,
            kind_label=str(kind.label),
            icon=KIND_ICONS[kind],
            address=self.address,
            title=mask_text(translated_title(request.title, request.tool_name)),
            priority=priority,
            priority_label=str(priority.label),
            priority_icon=PRIORITY_ICONS.get(priority, ""),
            values=self.values,
            message=visible(" ".join(request.opening.split()))[:CHARACTERS]
            if kind in ASKS
            else "",
            when=brief(request.created_at if request.pending else self.ended_at),
            deadline=brief(request.deadline_at, "in")
            if request.pending and request.deadline_at
            else "",
        )

    def _outcome(self) -> RowOutcome:
        status = Status(self.request.status)
        return RowOutcome(
            status=status,
            icon=STATUS_ICONS.get(status, "ban"),
            words=self.outcome,
            comment=visible(self.decision.comment[:CHARACTERS])
            if self.decision
            else "",
        )

    def _votes(self) -> RowVotes:
        ballot = self.ballot if self.request.pending else None
        current = None if ballot is None else ballot.current
        return RowVotes(
            count="" if current is None else current.approvals,
            progress="" if ballot is None else ballot.words,
            own="" if self.voted is None else self.voted.vote.verdict,
        )

    def _people(self) -> RowPeople:
        assignee = self.request.assigned_to
        return RowPeople(
            agent=visible(self.request.agent),
            requested_by=shown_person(self.request.requested_by),
            assigned_to="" if assignee is None else shown_person(assignee),
            assigned_name="" if assignee is None else assignee.get_username(),
            assigned_display="" if assignee is None else assignee.first_name,
        )

    @property
    def ended_at(self) -> datetime:
        """The time of its decision; a request that was closed otherwise has none."""
        return (
            self.request.changed_at
            if self.decision is None
            else self.decision.decided_at
        )

    @property
    def outcome(self) -> str:
        """The decision and its author, in a few words."""
        request = self.request
        label = outcome_label(request, self.decision)
        if self.decision is None:
            return label
        if self.request.repeats is not None:
            return _("%(outcome)s as before") % {"outcome": label}
        if self.decision.by_rule:
            return _("%(outcome)s by rule %(name)s") % {
                "outcome": label,
                "name": quoted(visible(self.request.rule or "")),
            }
        if not self.decision.by_name:
            return label
        if self.decision.via == Door.GRANT:
            return _("Approved by grant of %(name)s") % {
                "name": marked_name(self.decision.by_name)
            }
        return _("%(outcome)s by %(name)s") % {
            "outcome": label,
            "name": self._decided_by(self.decision),
        }

    def _decided_by(self, decision: Decision) -> str:
        """Return the name of the decider, or those of all whose votes decided."""
        deciders = (
            self.ballot.deciders(decision.verdict, break_glass=decision.break_glass)
            if self.ballot is not None
            else []
        )
        names = [voter.username for voter in deciders] or [decision.by_name]
        return in_one_line(map(marked_name, names))


def rows_for(
    viewer: Standing, shared: BatchCache, requests: Iterable[ApprovalRequest]
) -> list[InboxRow]:
    """Return the rows of requests read by `request_list.listed`."""
    requests = list(requests)
    settings = settings_of_tools({request.tool_name for request in requests})
    rules = rules_of_requests(requests)
    key_fields = {
        request.pk: key_fields_under(
            rules.get(request.pk, ()), settings.get(request.tool_name)
        )
        for request in requests
    }
    longer = _longer_beginnings(requests, key_fields)
    ballots = waiting_ballots(viewer, shared)
    others = [request for request in requests if request.pk not in ballots]
    ballots |= ballots_of(others, [viewer, *shared.viewers])
    # Looked up once for all rows: a long list is rendered for every page and push.
    home = reverse("approvals:requests")
    return [
        InboxRow(
            request=request,
            decision=None if request.pending else getattr(request, "decision", None),
            pickable=_may_be_picked(viewer, request),
            section=section_of(viewer, request),
            values=_values(
                request,
                key_fields[request.pk],
                longer.get(str(request.pk), request.gist),
            ),
            address=f"{home}{request.pk}/",
            likeness=_likeness(request, key_fields[request.pk]),
            ballot=ballots.get(request.pk),
        ).seen_by(viewer)
        for request in requests
    ]


def _may_be_picked(viewer: Standing, request: ApprovalRequest) -> bool:
    return (
        request.pending
        and not permissions.only_on_own_pages(request)
        and permissions.may_close(viewer, request)
    )


def _likeness(request: ApprovalRequest, key_fields: Sequence[str]) -> Hashable | None:
    if not site_settings.HITL_FLOOD:
        return None
    beginning = (
        json.dumps(request.proposal["input"]) if request.proposal else request.gist
    )
    return likeness_of(request, beginning, key_fields)


def _values(
    request: ApprovalRequest, key_fields: Sequence[str], beginning: str
) -> list[tuple[str, str]]:
    if request.kind in ASKS:
        return []
    if request.pending and request.proposal:
        beginning = json.dumps(request.proposal["input"], ensure_ascii=False)[:MUCH]
    value = masked_input(request, read_beginning(beginning))
    return key_values(
        value, key_fields, request.tool_name, read_schema(request.described)
    )


def _longer_beginnings(
    requests: Iterable[ApprovalRequest], key_fields: Mapping[UUID, Sequence[str]]
) -> dict[str, str]:
    """Return longer beginnings of truncated inputs whose tool has key fields, by id, since these may be further back."""
    wanted = [
        request.pk
        for request in requests
        if len(request.gist) >= GIST and key_fields[request.pk]
    ]
    if not wanted:
        return {}
    cut_off = ApprovalRequest.objects.filter(pk__in=wanted)
    return {
        str(pk): text
        for pk, text in cut_off.values_list(
            "pk", beginning_of_input(MUCH, decided=True)
        )
    }
