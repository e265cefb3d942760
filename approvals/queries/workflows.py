"""Reads of workflows that depend on the reader. Absent and forbidden rows look the same."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import (
    Case,
    Exists,
    F,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    When,
)
from django.utils.translation import gettext as _

from approvals.access.permissions import may_see_workflow, sees_everything
from approvals.access.standing import Standing
from approvals.db.cursors import Cursor
from approvals.db.literal import literal
from approvals.exceptions import NotFound
from approvals.models import ApprovalRequest, AuditEntry, Workflow
from approvals.queries.policy.scopes.visible import has_steps_for, steps_for
from approvals.queries.requests import UNREAD, inbox_for, with_names
from approvals.states import Status, WorkflowState


@dataclass(frozen=True, slots=True)
class WorkflowCursor(Cursor):
    """The cursor of workflows: suspended ones by urgency, then by time (`at`); ended ones by time, with the urgency 0."""

    urgency: int
    at: datetime
    pk: int


def workflows_for(
    viewer: Standing, listed: Q | None = None, *order: str
) -> QuerySet[Workflow]:
    """Return the workflows that this person may see: all, or their own and those with a request that they may see.

    For people limited by scopes, a list specifies the relevant requests and their order (`visible.has_steps_for`).
    """
    workflows = Workflow.objects.select_related("owner")
    if not viewer.is_active:
        return workflows.none()
    if sees_everything(viewer):
        return workflows.annotate(shown_title=F("title"))  # type: ignore[no-redef]  # declared on the model, to be read
    workflows = workflows.filter(
        Q(owner=viewer.pk) | has_steps_for(viewer, listed, *order)
    )
    # The title may reveal too much. Others see the title of their only request, or the key if they see several.
    theirs = ApprovalRequest.objects.filter(
        steps_for(viewer), workflow=OuterRef("pk")
    ).order_by("created_at", "id")
    title = Case(
        When(owner=viewer.pk, then=F("title")),
        When(Exists(theirs[1:2]), then=F("key")),
        default=Subquery(theirs.values("title")[:1]),
    )
    return workflows.annotate(shown_title=title)  # type: ignore[no-redef]  # declared on the model, to be read


def workflow_title_for(
    viewer: Standing, request: ApprovalRequest, *, several: bool = False
) -> str:
    """Return the title of a workflow for someone who may see the request; `several` if they may see more of its requests."""
    if may_see_workflow(viewer, request.workflow):
        return request.workflow.title
    return request.workflow.key if several else request.title


def suspended_workflows_for(
    viewer: Standing, *, after: WorkflowCursor | None = None
) -> QuerySet[Workflow]:
    """Return the suspended workflows, most urgent first, with their waiting requests in `requests`."""
    workflows = (
        workflows_for(viewer, Q(status=literal(Status.PENDING)))
        .filter(state=WorkflowState.SUSPENDED)
        .order_by("urgency", "suspended_at", "id")
    )
    if after is not None:
        same = Q(urgency=after.urgency)
        later = Q(suspended_at__gt=after.at) | Q(suspended_at=after.at, pk__gt=after.pk)
        workflows = workflows.filter(urgency__gte=after.urgency).filter(
            Q(urgency__gt=after.urgency) | same & later
        )
    return workflows.prefetch_related(Prefetch("requests", queryset=inbox_for(viewer)))


def ended_workflows_for(
    viewer: Standing, *, after: WorkflowCursor | None = None
) -> QuerySet[Workflow]:
    """Return the ended workflows, latest first."""
    decided = ~Q(status=literal(Status.PENDING)) & (
        Q() if after is None else Q(changed_at__lte=after.at)
    )
    workflows = workflows_for(viewer, decided, "-changed_at", "-id").filter(
        ended_at__isnull=False
    )
    workflows = workflows.order_by("-ended_at", "-id")
    if after is not None:
        workflows = workflows.filter(ended_at__lte=after.at).filter(
            Q(ended_at__lt=after.at) | Q(pk__lt=after.pk)
        )
    return workflows


def _no_workflow() -> NotFound:
    return NotFound(
        _("Workflow not found. It may not exist, or you may not have access.")
    )


def get_workflow_for(viewer: Standing, pk: int) -> Workflow:
    workflow = workflows_for(viewer).filter(pk=pk).first()
    if workflow is None:
        raise _no_workflow()
    return workflow


def get_workflow_by_key_for(viewer: Standing, *, scope: str, key: str) -> Workflow:
    workflow = workflows_for(viewer).filter(scope=scope, key=key).first()
    if workflow is None:
        raise _no_workflow()
    return workflow


def steps_of(viewer: Standing, workflow: Workflow) -> QuerySet[ApprovalRequest]:
    """Return the requests of a workflow, in order; only the visible ones for people who may not see all of it."""
    steps = workflow.requests.select_related(
        "decision", "requested_by", "assigned_to", "workflow"
    ).defer(UNREAD)
    if not may_see_workflow(viewer, workflow):
        steps = steps.filter(steps_for(viewer))
    return with_names(steps).order_by("created_at", "id")


def open_count_for(viewer: Standing, workflow: Workflow) -> int:
    """Return how many waiting requests of a workflow this person may see."""
    if may_see_workflow(viewer, workflow):
        return workflow.open_count
    return steps_of(viewer, workflow).filter(status=Status.PENDING).count()


def trail_of(viewer: Standing, workflow: Workflow) -> QuerySet[AuditEntry]:
    """Return the audit entries of a workflow; none for people who may not see all of it."""
    if not may_see_workflow(viewer, workflow):
        return AuditEntry.objects.none()
    return AuditEntry.objects.filter(
        scope=workflow.scope, run_id=workflow.key
    ).order_by("id")
