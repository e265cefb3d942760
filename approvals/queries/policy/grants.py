"""The grants that a person may see, their uses, and what a grant would have approved.

For pages: `grants_for(user, tool=, agent=, key_id=)` lists them, `uses_of(grant, user)` are the requests that one has approved,
`preview(user, request, terms)` what it would have approved in the last 30 days, `asking_always()` is the switch.
`cases.case_of(request, workflow, giver)` with `audiences`, `widest` and `problems` of `approvals.policy.grants` says what is
offered.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Case, OuterRef, Q, QuerySet, Subquery, TextField, Value, When
from django.db.models.functions import Cast, Length, Now
from django.db.models.lookups import LessThanOrEqual
from django.utils.translation import gettext as _

from approvals.access.keys import KEY_SCOPE
from approvals.access.permissions import decides_everything, in_scope, may_administer, may_decide, sees_everything
from approvals.access.standing import Standing
from approvals.db.cursors import Cursor
from approvals.exceptions import NotFound
from approvals.models import ApprovalRequest, AskAlways, Grant
from approvals.policy.grants import GrantTerms
from approvals.queries.policy.cases import settings_of
from approvals.queries.policy.covered import coverage_of
from approvals.queries.policy.visible import seen_by
from approvals.queries.requests import requests_for
from approvals.states import Door, Status, Width
from approvals.text.numbers import grouped
from approvals.text.times import clock_time

PREVIEWED, MAX_INPUT = timedelta(days=30), 20_000
#: Requests that a preview looks at, the latest first.
MAX_PREVIEWED = 500


@dataclass(frozen=True, slots=True)
class GrantCursor(Cursor):
    """The cursor of grants by age."""

    given_at: datetime
    pk: UUID

    @property
    def older(self) -> Q:
        """The condition of older grants."""
        return Q(given_at__lte=self.given_at) & (Q(given_at__lt=self.given_at) | Q(pk__lt=self.pk))


def grants_for(viewer: Standing, *, tool: str = "", agent: str = "", key_id: int | None = None) -> QuerySet[Grant]:
    """Return the grants that this person may see, newest first; of one tool, agent or key if that is named.

    Who sees every request sees all of them; others see those for their calls, those that they gave, and those that were given
    with a request in their scopes.
    """
    wanted = {"canonical_tool": tool, "agent": agent, "scope": "" if key_id is None else f"{KEY_SCOPE}{key_id}"}
    grants = Grant.objects.filter(**{name: value for name, value in wanted.items() if value})
    grants = grants.order_by("-given_at", "-id")
    if not viewer.is_active:
        return grants.none()
    if sees_everything(viewer):
        return grants
    own = Q(requested_by_id=viewer.pk) | Q(given_by_id=viewer.pk)
    return grants.filter(own | in_scope(viewer, "request__"))


def shown_grants(grants: QuerySet[Grant]) -> QuerySet[Grant]:
    """Return the grants with the names of the user whose calls they are for."""
    people = User.objects.filter(pk=OuterRef("requested_by_id"))
    return grants.annotate(
        requester_name=Subquery(people.values("username")),
        requester_display=Subquery(people.values("first_name")),
    )


def find_grant(viewer: Standing, grant_id: UUID) -> Grant:
    """Return a grant that this person may see. NotFound."""
    grant = shown_grants(grants_for(viewer)).filter(pk=grant_id).first()
    if grant is None:
        raise NotFound(_("Grant not found. It may not exist, or you may not have access."))
    return grant


def uses_of(grant: Grant, viewer: Standing) -> QuerySet[ApprovalRequest]:
    """Return the requests that a grant has approved, of those that this person may see, the latest first."""
    return requests_for(viewer).filter(decision__grant=grant).order_by("-decision__grant_use")


def use_words(grant: Grant, number: int) -> str:
    """Return which use of a grant a request was, such as “use 3 of 10 until 18:00”."""
    words = {
        "number": grouped(number),
        "uses": grouped(grant.uses or 0),
        "time": clock_time(grant.until) if grant.until else "",
    }
    if grant.uses is None:
        return _("use %(number)s until %(time)s") % words
    if grant.until is None:
        return _("use %(number)s of %(uses)s") % words
    return _("use %(number)s of %(uses)s until %(time)s") % words


def may_end(viewer: Standing, grant: Grant) -> bool:
    """Return whether this person may revoke a grant: who gave it, who may decide or administer, and for whose calls it is."""
    own = viewer.is_active and viewer.pk in {grant.given_by_id, grant.requested_by_id}
    return own or may_administer(viewer) or may_decide(viewer, grant.request)


def may_stop_grants(viewer: Standing) -> bool:
    """Return whether this person may switch *Ask about everything* on and off."""
    return decides_everything(viewer) or may_administer(viewer)


def asking_always() -> AskAlways | None:
    """Return since when and by whom everything has to be asked; None while grants can be used."""
    return AskAlways.objects.first()


@dataclass(frozen=True, slots=True)
class Preview:
    """The requests of the last 30 days that a grant would have approved: those that someone rejected, and how many in all.

    `complete` is false if there were more than are looked at, or inputs too long to be compared.
    """

    rejected: Sequence[ApprovalRequest]
    count: int
    complete: bool


def preview(viewer: Standing, request: ApprovalRequest, terms: GrantTerms) -> Preview:
    """Return what a grant with this request would have approved in the last 30 days, of what the user may see.

    One statement, or two for key fields. The requests have no messages and no conversation.
    """
    pointers = settings_of(request.tool_name).key_fields if terms.width == Width.FIELDS else ()
    coverage = coverage_of(request, terms, pointers)
    earlier = ApprovalRequest.objects.filter(coverage.condition, created_at__gte=Now() - PREVIEWED)
    # What the policy allows, denies or repeats does not get to a grant.
    earlier = earlier.exclude(Q(pk=request.pk) | Q(status=Status.PENDING) | Q(decision__via=Door.RULE))
    if not sees_everything(viewer):
        earlier = earlier.filter(seen_by(viewer))
    short = LessThanOrEqual(Length(Cast("input", TextField())), MAX_INPUT)
    text = Case(When(short, then=Cast("input", TextField())), default=Value(""), output_field=TextField())
    compared = Value("") if terms.width != Width.FIELDS else text
    shown = earlier.only("title", "status", "created_at").annotate(**{"short_input": compared})
    rows = list(shown.order_by("-created_at", "-id")[: MAX_PREVIEWED + 1])
    complete, rows = len(rows) <= MAX_PREVIEWED, rows[:MAX_PREVIEWED]
    if terms.width == Width.FIELDS:
        complete = complete and all(row.short_input for row in rows)
        rows = [row for row in rows if coverage.has_fields(json.loads(row.short_input or "{}"))]
    return Preview([row for row in rows if row.status == Status.REJECTED], len(rows), complete)
