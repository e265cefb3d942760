"""Read seeded checks: the one that waits for a person, as the request that it seems to be, and what came of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Exists, Q, QuerySet

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.asking.asks import URGENCY
from approvals.asking.digests import salt_for
from approvals.asking.reading_time import words_to_read
from approvals.db.canonical_json import canonical
from approvals.db.input_digest import input_digest
from approvals.models import ApprovalRequest, CheckCase, CheckSettings, SeededCheck, Workflow
from approvals.states import Kind, Priority, Status, Verdict, WorkflowState

#: The id of the workflow that a check seems to belong to.
NO_WORKFLOW = 0
#: How many results are read for the sums.
LIMIT = 20_000
APPROVED = Q(verdict__in=[Verdict.APPROVE, Verdict.EDIT])


@dataclass(frozen=True, slots=True)
class Results:
    """How many checks were decided, and how many of them as is right."""

    decided: int
    passed: int


def waiting_checks() -> QuerySet[SeededCheck]:
    """Return the checks that wait; none while they are switched off."""
    return SeededCheck.objects.filter(Exists(CheckSettings.objects.all()), decided_at=None)


def check_for(person: Standing, check_id: UUID) -> SeededCheck | None:
    """Return a check of this person: a decided one, or one that waits while checks are switched on."""
    check = SeededCheck.objects.filter(pk=check_id, person=person.pk).select_related("case", "requested_by").first()
    waits = check is not None and check.decided_at is None
    return None if waits and not may_be_checked(person) else check


def waiting_check_of(person: Standing) -> SeededCheck | None:
    """Return the check that waits for this person; None while checks are switched off."""
    rows = waiting_checks().filter(person=person.pk).select_related("case", "requested_by")
    return rows.first() if permissions.decides_everything(person) else None


def may_be_checked(person: Standing) -> bool:
    """Return whether checks are switched on, and this person decides without limits: checks are in no scope."""
    return permissions.decides_everything(person) and CheckSettings.objects.exists()


def as_request(check: SeededCheck) -> ApprovalRequest:
    """Return the request that a check seems to be. It is in no table, so no action, program, list or export can find it."""
    case, priority = check.case, Priority.NORMAL
    workflow = Workflow(
        pk=NO_WORKFLOW,
        scope="",
        key=str(check.pk),
        title=case.title,
        source="",
        agent=case.agent,
        owner=check.requested_by,
    )
    workflow.state, workflow.open_count = WorkflowState.SUSPENDED, 1
    salt = salt_for(check.pk, case.input)
    request = ApprovalRequest(
        id=check.pk,
        workflow=workflow,
        scope="",
        agent=case.agent,
        kind=Kind.APPROVAL,
        title=case.title,
        message=case.message,
        tool_name=case.tool_name,
        input=case.input,
        input_digest=input_digest(case.input, salt=salt),
        digest_salt=salt,
        priority=priority,
        urgency=URGENCY[priority],
        requested_by=check.requested_by,
        assigned_to=None,
        status=Status.PENDING,
        created_at=check.created_at,
        changed_at=check.created_at,
        words=words_to_read(case.title, case.message, case.input),
    )
    request.gist, request.opening = canonical(case.input).decode(), ""
    return request


def results_of_person(person: User, *, since: datetime) -> Results:
    return _results(SeededCheck.objects.filter(person=person.pk, decided_at__gte=since))


def results_of_all(*, since: datetime) -> Results:
    """Return the results of everyone together."""
    return _results(SeededCheck.objects.filter(decided_at__gte=since))


def _results(checks: QuerySet[SeededCheck]) -> Results:
    passed = (Q(case__expected=Verdict.APPROVE) & APPROVED) | (Q(case__expected=Verdict.REJECT) & ~APPROVED)
    decided = checks.order_by()[:LIMIT].count()
    return Results(decided, checks.filter(passed).order_by()[:LIMIT].count())


def live_cases() -> Sequence[CheckCase]:
    return list(CheckCase.objects.filter(removed_at=None).order_by("-pk"))
