"""The grants that a person may see, their uses, and previews of new grants.

For pages: `grants_for(user, tool=, agent=, key_id=)` lists them, `uses_of(grant, user)` are the requests that one has approved,
`preview(user, request, terms)` those that it would have approved in the last 30 days, `asking_always()` is the switch. The
offered terms come from `cases.case_of(request, workflow, giver)` with `audiences`, `widest` and `problems` of
`approvals.policy.grants`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import (
    Case,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Cast, Length, Now
from django.db.models.lookups import LessThanOrEqual
from django.utils.translation import gettext as _

from approvals.access.callers import KEY_SCOPE
from approvals.access.permissions import (
    decides_everything,
    in_scope,
    may_administer,
    may_decide,
    sees_everything,
)
from approvals.access.standing import Standing
from approvals.db.cursors import Cursor, take_page
from approvals.exceptions import NotFound
from approvals.models import ApprovalRequest, AskAlways, Grant
from approvals.policy.grants import GrantTerms
from approvals.queries.policy.grants.covered import coverage_of
from approvals.queries.policy.grants.grant_case import settings_of
from approvals.queries.policy.scopes.visible import seen_by
from approvals.queries.requests import requests_for
from approvals.states import Door, Status, Width
from approvals.text.numbers import grouped
from approvals.text.times import clock_time

PREVIEWED = timedelta(days=30)
MAX_INPUT = 20_000
#: Maximum requests that a preview examines, latest first.
MAX_PREVIEWED = 500


@dataclass(frozen=True, slots=True)
class GrantCursor(Cursor):
    """The cursor of grants by age."""

    given_at: datetime
    pk: UUID

    @property
    def older(self) -> Q:
        """The condition of older grants."""
        return Q(given_at__lte=self.given_at) & (
            Q(given_at__lt=self.given_at) | Q(pk__lt=self.pk)
        )


def grants_for(
    viewer: Standing, *, tool: str = "", agent: str = "", key_id: int | None = None
) -> QuerySet[Grant]:
    """Return the grants that this person may see, newest first, optionally of one tool, agent or key.

    People who see every request see all grants; others see those for their calls, those that they gave, and those given with a
    request in their scopes.
    """
    wanted = {
        "canonical_tool": tool,
        "agent": agent,
        "scope": "" if key_id is None else f"{KEY_SCOPE}{key_id}",
    }
    grants = Grant.objects.filter(
        **{name: value for name, value in wanted.items() if value}
    )
    grants = grants.order_by("-given_at", "-id")
    if not viewer.is_active:
        return grants.none()
    if sees_everything(viewer):
        return grants
    own = Q(requested_by_id=viewer.pk) | Q(given_by_id=viewer.pk)
    return grants.filter(own | in_scope(viewer, "request__"))


def shown_grants(grants: QuerySet[Grant]) -> QuerySet[Grant]:
    """Return the grants with the names of the user whose calls they are for, and the display name of the giver."""
    people = User.objects.filter(pk=OuterRef("requested_by_id"))
    givers = User.objects.filter(pk=OuterRef("given_by_id"))
    return grants.annotate(
        requester_name=Subquery(people.values("username")),
        requester_display=Subquery(people.values("first_name")),
        giver_display=Subquery(givers.values("first_name")),
    )


def find_grant(viewer: Standing, grant_id: UUID) -> Grant:
    """Return a grant that this person may see. Raise NotFound."""
    grant = shown_grants(grants_for(viewer)).filter(pk=grant_id).first()
    if grant is None:
        raise NotFound(
            _("Grant not found. It may not exist, or you may not have access.")
        )
    return grant


def uses_of(grant: Grant, viewer: Standing) -> QuerySet[ApprovalRequest]:
    """Return the requests approved by a grant that this person may see, latest first."""
    return (
        requests_for(viewer)
        .filter(decision__grant=grant)
        .order_by("-decision__grant_use")
    )


def use_words(grant: Grant, number: int) -> str:
    """Return the number of a grant's use in words, such as “use 3 of 10 until 18:00”."""
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
    """Return whether this person may revoke a grant: its giver, its requester, deciders and administrators."""
    own = viewer.is_active and viewer.pk in {grant.given_by_id, grant.requested_by_id}
    return own or may_administer(viewer) or may_decide(viewer, grant.request)


def may_stop_grants(viewer: Standing) -> bool:
    """Return whether this person may switch *Ask about everything* on and off."""
    return decides_everything(viewer) or may_administer(viewer)


def asking_always() -> AskAlways | None:
    """Return since when and by whom everything has to be asked; None while grants can be used."""
    return AskAlways.objects.first()


@dataclass(frozen=True, slots=True)
class GrantPreview:
    """The requests of the last 30 days that a grant would have approved: those that were rejected, and the total number.

    `complete` is false if there were more than are examined, or inputs too long to compare.
    """

    rejected: Sequence[ApprovalRequest]
    count: int
    complete: bool


def preview(
    viewer: Standing, request: ApprovalRequest, terms: GrantTerms
) -> GrantPreview:
    """Return the requests that a grant with this one would have approved in the last 30 days and that the viewer may see.

    One statement, or two for key fields. The requests have no messages and no conversation.
    """
    pointers = (
        settings_of(request.tool_name).key_fields if terms.width == Width.FIELDS else ()
    )
    coverage = coverage_of(request, terms, pointers)
    earlier = ApprovalRequest.objects.filter(
        coverage.condition, created_at__gte=Now() - PREVIEWED
    )
    # Calls that the policy allows, denies or repeats do not reach a grant.
    earlier = earlier.exclude(
        Q(pk=request.pk) | Q(status=Status.PENDING) | Q(decision__via=Door.RULE)
    )
    if not sees_everything(viewer):
        earlier = earlier.filter(seen_by(viewer))
    short = LessThanOrEqual(Length(Cast("input", TextField())), MAX_INPUT)
    text = Case(
        When(short, then=Cast("input", TextField())),
        default=Value(""),
        output_field=TextField(),
    )
    compared = Value("") if terms.width != Width.FIELDS else text
    shown = earlier.only("title", "status", "created_at").annotate(
        **{"short_input": compared}
    )
    rows, more = take_page(shown.order_by("-created_at", "-id"), MAX_PREVIEWED)
    complete = not more
    if terms.width == Width.FIELDS:
        complete = complete and all(row.short_input for row in rows)
        rows = [
            row
            for row in rows
            if coverage.has_fields(json.loads(row.short_input or "{}"))
        ]
    return GrantPreview(
        [row for row in rows if row.status == Status.REJECTED], len(rows), complete
    )
