"""The requests that a grant covers: those that it would have approved, and those already waiting when it was given.

A grant approves only requests made after it. Earlier ones keep waiting, and are offered to people for decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q
from django.db.models.functions import Now

from approvals.access.permissions import may_close
from approvals.access.standing import Standing
from approvals.asking.digests import fingerprints_of
from approvals.db.canonical_json import canonical
from approvals.db.cursors import take_page
from approvals.models import ApprovalRequest, Grant
from approvals.policy.grants import GrantTerms, fields_of
from approvals.queries.policy.grants.grant_case import bar_of_waiting
from approvals.queries.requests import requests_for
from approvals.states import Audience, Kind, Priority, Status, Width

#: Waiting requests that are examined, oldest first, and that are offered: as many as one bulk decision takes.
LOOKED_AT = 200
OFFERED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The coverage of a grant. `pointers` are those of its key fields."""

    given_with: ApprovalRequest
    width: Width
    audience: Audience
    pointers: Sequence[str] = ()

    @property
    def condition(self) -> Q:
        """The condition of covered requests, without the values of key fields, which `has_fields` compares."""
        like = self.given_with
        audience = {
            Audience.AGENT: Q(agent=like.agent),
            Audience.KEY: Q(scope=like.scope),
            Audience.WORKFLOW: Q(workflow=like.workflow_id),
            Audience.THREAD: Q(
                scope=like.scope, workflow__thread_id=like.workflow.thread_id
            ),
        }[self.audience]
        covered = Q(
            audience,
            canonical_tool=like.tool_name,
            requested_by=like.requested_by_id,
            kind=Kind.APPROVAL,
        ) & ~Q(priority=Priority.CRITICAL)
        if self.width == Width.INPUT:
            return covered & Q(input_fingerprint__in=fingerprints_of(like))
        return covered & Q(attachments__isnull=True)

    def has_fields(self, value: dict[str, object]) -> bool:
        """Return whether an input has the values of the key fields; always true for other widths."""
        if self.width != Width.FIELDS:
            return True
        wanted = fields_of(self.given_with.input, self.pointers)
        return bool(wanted) and canonical(fields_of(value, self.pointers)) == canonical(
            wanted
        )


@dataclass(frozen=True, slots=True)
class CoveredRequests:
    """Requests that wait although a grant covers them; `complete` is false if there may be more."""

    requests: Sequence[ApprovalRequest] = ()
    complete: bool = True


NONE_WAITING = CoveredRequests()


def coverage_of(
    request: ApprovalRequest, terms: GrantTerms, pointers: Sequence[str]
) -> Coverage:
    """Return the coverage of a grant with this request."""
    return Coverage(
        given_with=request,
        width=terms.width,
        audience=terms.audience,
        pointers=pointers,
    )


def waiting_under(viewer: Standing, coverage: Coverage) -> CoveredRequests:
    """Return the waiting requests that a grant covers and that this person may decide now, oldest first."""
    rows = (
        requests_for(viewer)
        .filter(coverage.condition, status=Status.PENDING)
        .exclude(pk=coverage.given_with.pk)
    )
    # Overdue requests expire in a moment.
    rows = rows.filter(Q(deadline_at__isnull=True) | Q(deadline_at__gt=Now())).order_by(
        "created_at", "id"
    )
    looked_at, more = take_page(
        rows.select_related("workflow", "requested_by"), LOOKED_AT
    )
    covered = [
        each
        for each in looked_at
        if _is_covered(each, coverage) and may_close(viewer, each)
    ]
    return CoveredRequests(covered[:OFFERED], not more and len(covered) <= OFFERED)


def _is_covered(request: ApprovalRequest, coverage: Coverage) -> bool:
    return bar_of_waiting(request) is None and coverage.has_fields(request.input)


def waiting_with_grant_of(
    viewer: Standing, request: ApprovalRequest
) -> CoveredRequests:
    """Return the waiting requests covered by the grant given with this one; none if there is no active grant."""
    grant = Grant.objects.filter(request=request.pk, ended_at=None).first()
    return (
        NONE_WAITING
        if grant is None
        else waiting_under(viewer, _coverage_with(request, grant))
    )


def waiting_with(viewer: Standing, grant: Grant) -> CoveredRequests:
    """Return the waiting requests that a grant covers; none if it has ended."""
    return (
        NONE_WAITING
        if grant.ended_at is not None
        else waiting_under(viewer, _coverage_with(grant.request, grant))
    )


def _coverage_with(request: ApprovalRequest, grant: Grant) -> Coverage:
    width = Width(grant.width)
    audience = Audience(grant.audience)
    return Coverage(
        given_with=request, width=width, audience=audience, pointers=grant.fields or ()
    )
