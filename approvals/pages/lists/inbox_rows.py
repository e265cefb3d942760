"""The rows of the inbox: a request in a few words, and whether it can be selected for a bulk decision."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from django.conf import settings as site_settings
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals import queries
from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.access.usernames import shown_person
from approvals.asking.secrets import masked_input
from approvals.asking.titles import is_made
from approvals.models import ApprovalRequest, Decision, ToolSettings
from approvals.pages.key_fields import key_values, read_beginning
from approvals.pages.lists.likeness import likeness_of
from approvals.pages.lists.short_times import brief
from approvals.queries.described import read_schema
from approvals.queries.filters import Filters
from approvals.queries.policy.ballots import Ballot, CastVote, ballots_of
from approvals.queries.policy.ruling import rules_of_requests, settings_under
from approvals.queries.preferences import settings_of_tools
from approvals.queries.request_list import COLUMNS, GIST, beginning_of_input
from approvals.queries.sections import EXPIRING, MINE, RECENT, VOTED, WAITING, section_of
from approvals.states import ASKS, Door, Kind, Priority, Status, status_label, verdict_label
from approvals.text.confusables import marked_name
from approvals.text.secrets import mask_text
from approvals.text.text import visible
from approvals.text.translation import quoted

#: How many characters of an input are read to find the key fields that an administrator chose.
MUCH = 8_000
#: How many characters of a question's message or of a comment a row shows.
CHARACTERS = 160
KIND_ICONS = {
    Kind.APPROVAL: "shield-check",
    Kind.QUESTION: "circle-question-mark",
    Kind.FORM: "clipboard-list",
    Kind.RECOVERY: "triangle-alert",
}
PRIORITY_ICONS = {Priority.CRITICAL: "octagon-alert", Priority.HIGH: "chevrons-up", Priority.LOW: "chevron-down"}
STATUS_ICONS = {Status.APPROVED: "check", Status.ANSWERED: "check", Status.REJECTED: "x", Status.EXPIRED: "hourglass"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRow:
    """A row of `approvals/inbox/_rows.html`; `pickable` if the person may decide it now in a bulk decision.

    The template reads `shown`.
    """

    request: ApprovalRequest
    decision: Decision | None
    pickable: bool
    section: str
    values: Sequence[tuple[str, str]]
    address: str = ""
    #: The same for requests that are one row if they are many; None for one that always has its own.
    likeness: Hashable | None = None
    #: The votes, if it is decided by them and waits.
    ballot: Ballot | None = None
    #: The vote of the person, if it counts: the request then waits for others.
    voted: CastVote | None = None
    #: The rows of a page that are alike, which stand folded below this one.
    alike: Sequence[InboxRow] = ()

    def seen_by(self, viewer: Standing) -> InboxRow:
        """Return the row with what differs between people of the same rights: its section, and their own vote."""
        voted = None if self.ballot is None else self.ballot.standing_vote_of(viewer)
        return replace(self, section=VOTED if voted else section_of(viewer, self.request), voted=voted)

    @property
    def picks(self) -> str:
        """This row and those alike, as a bulk decision names them; empty if they are not decided in bulk."""
        rows = [row for row in (self, *self.alike) if row.pickable and row.request.kind not in ASKS]
        return " ".join(row.pick for row in rows) if len(rows) > 1 else ""

    @property
    def pick(self) -> str:
        """This row alone, as a bulk decision names it: the id and the digest of the input that the row shows."""
        return f"{self.request.pk}:{self.request.voted_digest}"

    @property
    def version(self) -> str:
        """Changes whenever the request does."""
        return f"{self.request.status}-{self.request.changed_at.timestamp()}-{self.request.assigned_to_id or ''}"

    @property
    def shown(self) -> dict[str, Any]:
        """Return what the template reads; a part whose text is empty is left out."""
        request = self.request
        kind, priority, status = Kind(request.kind), Priority(request.priority), Status(request.status)
        made = " is-made" if is_made(request.title, request.tool_name) else ""
        return {
            "pk": str(request.pk),
            "classes": f"urgency-{priority} is-{status}{made}{' is-voted' if self.voted else ''}",
            "kind": kind,
            "kind_label": kind.label,
            "icon": KIND_ICONS[kind],
            "priority": priority,
            # Normal has none.
            "priority_icon": PRIORITY_ICONS.get(priority, ""),
            "priority_label": priority.label,
            "urgency": request.urgency,
            "status": status,
            "pending": request.pending,
            "version": self.version,
            "pickable": self.pickable,
            "pick": self.pick,
            "section": self.section,
            "address": self.address,
            "title": mask_text(request.title),
            "when": brief(request.created_at if request.pending else self.ended_at),
            "deadline": brief(request.deadline_at, "in") if request.pending and request.deadline_at else "",
            "outcome": "" if request.pending else self.outcome,
            "outcome_icon": STATUS_ICONS.get(status, "ban"),
            "comment": visible(self.decision.comment[:CHARACTERS]) if self.decision else "",
            "progress": "" if self.ballot is None else self.ballot.words,
            "voted": "" if self.voted is None else self.voted.vote.verdict,
            "values": self.values,
            # The beginning of a question's message.
            "message": visible(" ".join(request.opening.split()))[:CHARACTERS] if kind in ASKS else "",
            "agent": visible(request.agent),
            "requested_by": shown_person(request.requested_by),
            "assignee": request.assigned_to,
            "assigned_to": shown_person(request.assigned_to) if request.assigned_to else "",
        }

    @property
    def ended_at(self) -> datetime:
        """When it was decided; a request that is closed otherwise has no decision."""
        return self.request.changed_at if self.decision is None else self.decision.decided_at

    @property
    def outcome(self) -> str:
        """Who decided what, in a few words."""
        if self.decision is None:
            return status_label(self.request.kind, self.request.status)
        label = verdict_label(self.request.kind, self.decision.verdict)
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
            return _("Approved by grant of %(name)s") % {"name": marked_name(self.decision.by_name)}
        return _("%(outcome)s by %(name)s") % {"outcome": label, "name": marked_name(self.decision.by_name)}


@dataclass(frozen=True, slots=True)
class Group:
    """Rows under one heading, which is empty if the list is neither grouped nor in sections; `name` is that of a section."""

    heading: str
    rows: list[InboxRow]
    name: str = ""


def rows_for(viewer: Standing, requests: Iterable[ApprovalRequest]) -> list[InboxRow]:
    """Return the rows of requests that `request_list.listed` has read."""
    requests = list(requests)
    settings = settings_of_tools({request.tool_name for request in requests})
    rules = rules_of_requests(requests)
    settings_of = {
        request.pk: settings_under(rules.get(request.pk, ()), settings.get(request.tool_name)) for request in requests
    }
    longer = _longer_beginnings(requests, settings_of)
    ballots = ballots_of(request for request in requests if request.pending)
    # Looked up once for all rows: a long list is rendered for every page and push.
    home = reverse("approvals:requests")
    return [
        InboxRow(
            request=request,
            decision=None if request.pending else getattr(request, "decision", None),
            pickable=_may_be_picked(viewer, request),
            section=section_of(viewer, request),
            values=_values(request, settings_of[request.pk], longer.get(str(request.pk), request.gist)),
            address=f"{home}{request.pk}/",
            likeness=_likeness(request, settings_of[request.pk]),
            ballot=ballots.get(request.pk),
        ).seen_by(viewer)
        for request in requests
    ]


def fold_alike(rows: Sequence[InboxRow]) -> list[InboxRow]:
    """Return waiting rows so that more than HITL_FLOOD that are alike are one, in the place of the first of them."""
    if not site_settings.HITL_FLOOD:
        return list(rows)
    by_likeness: dict[Hashable, list[InboxRow]] = {}
    for row in rows:
        by_likeness.setdefault(row.likeness, []).append(row)
    folded: list[InboxRow] = []
    for row in rows:
        like = by_likeness[row.likeness]
        if row.likeness is None or len(like) <= site_settings.HITL_FLOOD:
            folded.append(row)
        elif like[0] is row:
            folded.append(replace(row, alike=tuple(like[1:])))
    return folded


def _may_be_picked(viewer: Standing, request: ApprovalRequest) -> bool:
    return request.pending and not permissions.only_on_own_pages(request) and permissions.may_close(viewer, request)


def _likeness(request: ApprovalRequest, settings: ToolSettings | None) -> Hashable | None:
    if not site_settings.HITL_FLOOD:
        return None
    beginning = json.dumps(request.proposal["input"]) if request.proposal else request.gist
    return likeness_of(request, beginning, settings.key_fields if settings is not None else ())


def _values(request: ApprovalRequest, settings: ToolSettings | None, beginning: str) -> list[tuple[str, str]]:
    if request.kind in ASKS:
        return []
    if request.pending and request.proposal:
        beginning = json.dumps(request.proposal["input"], ensure_ascii=False)[:MUCH]
    value = masked_input(request, read_beginning(beginning))
    return key_values(value, settings, request.tool_name, read_schema(request.described))


def _longer_beginnings(
    requests: Iterable[ApprovalRequest], settings_of: Mapping[UUID, ToolSettings | None]
) -> dict[str, str]:
    """Return more of the inputs that were cut off and whose tool has key fields, by id: these may be further back."""
    wanted = [
        request.pk
        for request in requests
        if len(request.gist) >= GIST and (settings := settings_of[request.pk]) is not None and settings.key_fields
    ]
    if not wanted:
        return {}
    cut_off = ApprovalRequest.objects.filter(pk__in=wanted)
    return {str(pk): text for pk, text in cut_off.values_list("pk", beginning_of_input(MUCH, decided=True))}


def headings() -> dict[str, str]:
    """Return the headings of the sections, in their order on the page."""
    return {
        EXPIRING: _("Expiring soon"),
        MINE: _("Assigned to you"),
        WAITING: _("Waiting"),
        VOTED: _("Waiting for others"),
        RECENT: _("Recently decided"),
    }


def section_rows(viewer: Standing, sections: Mapping[str, Sequence[ApprovalRequest]], *, first: bool) -> list[Group]:
    """Return a page of rows in sections; empty ones are there for new requests.

    On the first page, what the person has voted on stands below what waits. Later ones only continue what waits.
    """
    every = rows_for(viewer, [request for requests in sections.values() for request in requests])
    by_id = {row.request.pk: row for row in every}
    rows = {name: [by_id[request.pk] for request in sections.get(name, ())] for name in headings()}
    if first:
        rows |= {name: [row for row in rows[name] if not row.voted] for name in (EXPIRING, MINE, WAITING)}
        rows[VOTED] = [row for row in every if row.voted]
    return [Group(heading, fold_alike(rows[name]), name) for name, heading in headings().items()]


def group_rows(viewer: Standing, requests: list[ApprovalRequest], filters: Filters) -> list[Group]:
    """Return the rows of a page under their headings."""
    rows = rows_for(viewer, requests)
    if not filters.group:
        return [Group("", fold_alike(rows), WAITING)]
    column = COLUMNS[filters.group]
    groups = [list(group) for _key, group in groupby(rows, key=lambda row: getattr(row.request, column))]
    return [Group(_heading(viewer, group, filters), fold_alike(group)) for group in groups]


def _heading(viewer: Standing, rows: Sequence[InboxRow], filters: Filters) -> str:
    request = rows[0].request
    if filters.group == "workflow":
        return queries.workflow_title_for(viewer, request, several=len(rows) > 1)
    if filters.group == "tool":
        return visible(request.tool_name) or _("No tool")
    return visible(request.agent) or _("No agent")
