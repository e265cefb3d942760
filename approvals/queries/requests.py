"""Reads of requests and workflows that depend on who reads. Absent and forbidden rows look the same."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import (
    Case,
    CharField,
    Exists,
    F,
    Func,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    UUIDField,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Concat
from django.utils.translation import gettext as _

from approvals.access.permissions import may_see, may_see_workflow, sees_everything
from approvals.access.standing import Standing
from approvals.db.cursors import Cursor
from approvals.db.literal import literal
from approvals.db.prepared import Parameter, Prepared
from approvals.exceptions import NotFound
from approvals.models import ApprovalRequest, AuditEntry, Workflow
from approvals.queries.policy.visible import has_steps_for, seen_by, steps_for
from approvals.queries.search import with_words
from approvals.states import Status, WorkflowState

#: Counts stop here: pages show "1000+", and counting never scans a table.
COUNT_LIMIT = 1000
PAGE = 50


#: The column that only the page and the document of one request show.
UNREAD = "said_before"


def requests_for(viewer: Standing) -> QuerySet[ApprovalRequest]:
    """Return the requests that this person may see; none if they are anonymous or inactive."""
    requests = whole_requests().defer(UNREAD)
    if not viewer.is_active:
        return requests.none()
    return requests if sees_everything(viewer) else requests.filter(seen_by(viewer))


def inbox_for(viewer: Standing) -> QuerySet[ApprovalRequest]:
    """Return the waiting requests, most urgent first, then oldest first."""
    return requests_for(viewer).filter(status=literal(Status.PENDING)).order_by("urgency", "created_at", "id")


#: Columns that may be large and that lists do not show.
BODIES = ("message", "input", "response_schema", "options", "suggestions", "context", "default_response")
DECISION_BODIES = ("comment", "edited_input", "answer")
UNLISTED = (*BODIES, *(f"decision__{name}" for name in DECISION_BODIES))


@dataclass(frozen=True, slots=True)
class RequestCursor(Cursor):
    """The cursor of requests by age."""

    created_at: datetime
    pk: UUID

    @property
    def older(self) -> Q:
        """The condition of older requests."""
        # A separate condition lets the index start at the cursor; inside the "or" it would be scanned from its beginning.
        return Q(created_at__lte=self.created_at) & (Q(created_at__lt=self.created_at) | Q(pk__lt=self.pk))


@dataclass(frozen=True, slots=True)
class WorkflowCursor(Cursor):
    """The cursor of workflows: suspended ones by urgency and then by when (`at`), ended ones by when, with the urgency 0."""

    urgency: int
    at: datetime
    pk: int


def matching_requests_for(
    viewer: Standing, *, text: str | None = None, after: RequestCursor | None = None, **exact: Any
) -> QuerySet[ApprovalRequest]:
    """Return the requests with these values and these words, newest first, without what a list does not show.

    The names of `exact` are lookups, and None does not filter.
    """
    requests = requests_for(viewer).order_by("-created_at", "-id").defer(*UNLISTED, UNREAD)
    requests = requests.filter(**{lookup: value for lookup, value in exact.items() if value is not None})
    if text is not None:
        requests = with_words(requests, text)
    return requests if after is None else requests.filter(after.older)


def whole_requests() -> QuerySet[ApprovalRequest]:
    """Return requests with everything that their pages, documents and actions need."""
    return ApprovalRequest.objects.select_related("workflow", "decision__grant", "requested_by", "assigned_to")


class _IdText(Func):
    """The id of a request as programs write it; SQLite stores it without hyphens."""

    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        parts = (f"substr(%(expressions)s, {first}, {length})" for first, length in _ID_PARTS)
        return self.as_sql(compiler, connection, template=" || '-' || ".join(parts), **more)

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(compiler, connection, template="CAST(%(expressions)s AS text)", **more)


_ID_PARTS = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))


def with_report(requests: QuerySet[ApprovalRequest]) -> QuerySet[ApprovalRequest]:
    """Return the requests with the audit entry of what their call did, in the same read."""
    call = Coalesce("tool_call_id", _IdText("pk"))
    key = Concat(Value("tool.result:"), "scope", Value(":"), call, output_field=CharField())
    entry = AuditEntry.objects.filter(dedup_key=OuterRef("report_key")).values("body")[:1]
    return requests.alias(report_key=key).annotate(report=Subquery(entry))  # type: ignore[no-redef]


def with_names(requests: QuerySet[ApprovalRequest]) -> QuerySet[ApprovalRequest]:
    """Return the requests with the display names of who decided them and who works on them, in the same read."""

    def name_of(pk: str, recorded: str) -> Subquery:
        # On record is the name of a key where one of the person's keys acted.
        people = User.objects.filter(pk=OuterRef(pk), username=OuterRef(recorded))
        return Subquery(people.values("first_name")[:1])

    decided, claimed = name_of("decision__by_id", "decision__by_name"), name_of("claimed_by_id", "claimed_name")
    return requests.annotate(decided_display=decided, claimed_display=claimed)  # type: ignore[no-redef]


WHOLE_REQUEST: Prepared[ApprovalRequest] = Prepared(
    lambda: with_names(with_report(whole_requests()).filter(pk=Parameter("pk", UUIDField())))
)


def get_request_for(viewer: Standing, request_id: UUID) -> ApprovalRequest:
    request = WHOLE_REQUEST.first(pk=request_id)
    if request is None or not may_see(viewer, request):
        raise NotFound
    return request


def find_call(scope: str, tool_call_id: str) -> ApprovalRequest | None:
    """Return the first request that a client has made for a tool call; None if it made none."""
    requests = with_report(whole_requests()).filter(scope=scope, tool_call_id=tool_call_id)
    return requests.order_by("created_at").first()


#: Digits of the number in a series of equal calls. With these keys, texts sort alike in every collation.
SERIES_DIGITS = 8

#: At most so many requests of one id are looked through for the one that a report is about.
MAX_SERIES = 100


def _series(**more: Any) -> QuerySet[ApprovalRequest]:
    """Return the requests of a series of equal calls, the last one first."""
    return (
        with_report(whole_requests())
        .filter(
            scope=Parameter("scope", CharField()),
            idempotency_key__gte=Parameter("first", CharField()),
            idempotency_key__lte=Parameter("last", CharField()),
            **more,
        )
        .order_by("-idempotency_key")
    )


_LATEST: Prepared[ApprovalRequest] = Prepared(lambda: _series()[:1])
_LATEST_SAME: Prepared[ApprovalRequest] = Prepared(lambda: _series(ask_digest=Parameter("digest", CharField()))[:1])
_LATEST_OF_TOOL: Prepared[ApprovalRequest] = Prepared(
    lambda: _series(tool_name=Parameter("tool", CharField()))[:MAX_SERIES]
)


def _bounds(key: str) -> dict[str, str]:
    return {"first": key, "last": key + "9" * SERIES_DIGITS}


def latest_of_calls(scope: str, key: str, *, digest: str | None = None) -> ApprovalRequest | None:
    """Return the last request that a client has made for equal calls (`asking.origins.EqualCalls`); None if it made none.

    With a `digest`, the last one that asked what the digest is over.
    """
    if digest is None:
        return _LATEST.first(scope=scope, **_bounds(key))
    return _LATEST_SAME.first(scope=scope, digest=digest, **_bounds(key))


def calls_of_tool(scope: str, key: str, tool: str) -> list[ApprovalRequest]:
    """Return the last requests that a client has made for calls of a tool under one id, the latest first."""
    return _LATEST_OF_TOOL.all(scope=scope, tool=tool, **_bounds(key))


def latest_of_session(scope: str, session: str, agent: str) -> ApprovalRequest | None:
    """Return the last request of a session of a coding agent; None if it made none."""
    requests = ApprovalRequest.objects.filter(scope=scope, workflow__thread_id=session, agent=agent)
    return requests.order_by("-created_at", "-id").first()


def workflows_for(viewer: Standing, listed: Q | None = None, *order: str) -> QuerySet[Workflow]:
    """Return the workflows that this person may see: all, or their own and those with a request that they may see.

    A list says which requests make it up where scopes limit a person, and in which order (`visible.has_steps_for`).
    """
    workflows = Workflow.objects.select_related("owner")
    if not viewer.is_active:
        return workflows.none()
    if sees_everything(viewer):
        return workflows.annotate(shown_title=F("title"))  # type: ignore[no-redef]  # declared on the model, to be read
    workflows = workflows.filter(Q(owner=viewer.pk) | has_steps_for(viewer, listed, *order))
    # The title may say more than its reader may see. They see the title of their request, or the key if they have several.
    theirs = ApprovalRequest.objects.filter(steps_for(viewer), workflow=OuterRef("pk")).order_by("created_at", "id")
    title = Case(
        When(owner=viewer.pk, then=F("title")),
        When(Exists(theirs[1:2]), then=F("key")),
        default=Subquery(theirs.values("title")[:1]),
    )
    return workflows.annotate(shown_title=title)  # type: ignore[no-redef]  # declared on the model, to be read


def workflow_title_for(viewer: Standing, request: ApprovalRequest, *, several: bool = False) -> str:
    """Return the title of a workflow for someone who may see the request; `several` if they may see more of its requests."""
    if may_see_workflow(viewer, request.workflow):
        return request.workflow.title
    return request.workflow.key if several else request.title


def suspended_workflows_for(viewer: Standing, *, after: WorkflowCursor | None = None) -> QuerySet[Workflow]:
    """Return the suspended workflows, most urgent first, with their waiting requests in `requests`."""
    workflows = (
        workflows_for(viewer, Q(status=literal(Status.PENDING)))
        .filter(state=WorkflowState.SUSPENDED)
        .order_by("urgency", "suspended_at", "id")
    )
    if after is not None:
        same = Q(urgency=after.urgency)
        later = Q(suspended_at__gt=after.at) | Q(suspended_at=after.at, pk__gt=after.pk)
        workflows = workflows.filter(urgency__gte=after.urgency).filter(Q(urgency__gt=after.urgency) | same & later)
    return workflows.prefetch_related(Prefetch("requests", queryset=inbox_for(viewer)))


def ended_workflows_for(viewer: Standing, *, after: WorkflowCursor | None = None) -> QuerySet[Workflow]:
    """Return the workflows that ended, latest first."""
    decided = ~Q(status=literal(Status.PENDING)) & (Q() if after is None else Q(changed_at__lte=after.at))
    workflows = workflows_for(viewer, decided, "-changed_at", "-id").filter(ended_at__isnull=False)
    workflows = workflows.order_by("-ended_at", "-id")
    if after is not None:
        workflows = workflows.filter(ended_at__lte=after.at).filter(Q(ended_at__lt=after.at) | Q(pk__lt=after.pk))
    return workflows


def _no_workflow() -> NotFound:
    return NotFound(_("Workflow not found. It may not exist, or you may not have access."))


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
    """Return the requests of a workflow, in order; only some for who does not see all of it, such as an assignee."""
    steps = workflow.requests.select_related("decision", "requested_by", "assigned_to", "workflow").defer(UNREAD)
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
    return AuditEntry.objects.filter(scope=workflow.scope, run_id=workflow.key).order_by("id")


def changed_since(viewer: Standing, moment: datetime) -> QuerySet[ApprovalRequest]:
    """Return the requests that changed since `moment`, oldest change first."""
    return with_names(requests_for(viewer)).filter(changed_at__gte=moment).order_by("changed_at", "id")


def user_named(name: str) -> User | AnonymousUser:
    """Return the active user with that name, or AnonymousUser: actions refuse both in the same words."""
    # Databases do not accept a NUL character.
    user = User.objects.filter(username=name, is_active=True).first() if "\x00" not in name else None
    return user or AnonymousUser()


def capped_count(rows: QuerySet[Any]) -> int:
    """Count rows, up to COUNT_LIMIT."""
    return rows.order_by()[:COUNT_LIMIT].count()
