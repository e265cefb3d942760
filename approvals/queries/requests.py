"""Reads of requests that depend on the reader. Absent and forbidden rows look the same."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import (
    CharField,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    UUIDField,
    Value,
)
from django.db.models.functions import Coalesce, Concat

from approvals.access.permissions import may_see, sees_everything
from approvals.access.standing import Standing
from approvals.db.cursors import Cursor
from approvals.db.literal import literal
from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Prepared
from approvals.exceptions import Invalid, NotFound
from approvals.models import ApprovalRequest, AuditEntry
from approvals.queries.policy.scopes.visible import seen_by
from approvals.queries.search import with_words
from approvals.queries.search_words import check_search
from approvals.states import Status

#: Counts stop here: pages show "1000+", and counting never scans a table.
COUNT_LIMIT = 1000
PAGE = 50


#: A column that only the page and the document of one request show.
UNREAD = "said_before"


def requests_for(viewer: Standing) -> QuerySet[ApprovalRequest]:
    """Return the requests that this person may see; none if they are anonymous or inactive."""
    requests = whole_requests().defer(UNREAD)
    if not viewer.is_active:
        return requests.none()
    return requests if sees_everything(viewer) else requests.filter(seen_by(viewer))


def inbox_for(viewer: Standing) -> QuerySet[ApprovalRequest]:
    """Return the waiting requests, most urgent first, then oldest first."""
    return (
        requests_for(viewer)
        .filter(status=literal(Status.PENDING))
        .order_by("urgency", "created_at", "id")
    )


#: Columns that may be large and that lists do not show.
BODIES = (
    "message",
    "input",
    "response_schema",
    "options",
    "suggestions",
    "context",
    "default_response",
)
DECISION_BODIES = ("comment", "edited_input", "answer")
UNLISTED = (*BODIES, *(f"decision__{name}" for name in DECISION_BODIES))


def waiting_for_votes(viewers: Collection[Standing]) -> list[ApprovalRequest]:
    """Return the waiting requests that these people may decide, all or none of them limited by scopes, if votes are needed."""
    waiting = ApprovalRequest.objects.filter(
        status=literal(Status.PENDING), terms__isnull=False
    )
    if all(viewer.is_limited for viewer in viewers):
        scope_sets = {pk for viewer in viewers for pk in viewer.scope_sets}
        waiting = waiting.filter(scope_set__in=any_of(scope_sets, int))
    return list(waiting.select_related("workflow").order_by().defer(*BODIES))


@dataclass(frozen=True, slots=True)
class RequestCursor(Cursor):
    """The cursor of requests by age."""

    created_at: datetime
    pk: UUID

    @property
    def older(self) -> Q:
        """The condition of older requests."""
        # A separate condition lets the index start at the cursor; inside the "or" it would be scanned from its beginning.
        return Q(created_at__lte=self.created_at) & (
            Q(created_at__lt=self.created_at) | Q(pk__lt=self.pk)
        )


def matching_requests_for(
    viewer: Standing,
    *,
    text: str | None = None,
    after: RequestCursor | None = None,
    **exact: Any,
) -> QuerySet[ApprovalRequest]:
    """Return the requests with these values and words, newest first, without columns that lists do not show.

    The names of `exact` are lookups; None does not filter.
    """
    requests = (
        requests_for(viewer).order_by("-created_at", "-id").defer(*UNLISTED, UNREAD)
    )
    requests = requests.filter(
        **{lookup: value for lookup, value in exact.items() if value is not None}
    )
    if text is not None:
        if problem := check_search(text):
            raise Invalid(problem, {"text": problem})
        requests = with_words(requests, text)
    return requests if after is None else requests.filter(after.older)


def whole_requests() -> QuerySet[ApprovalRequest]:
    """Return requests with all relations that their pages, documents and actions need."""
    return ApprovalRequest.objects.select_related(
        "workflow", "decision__grant", "requested_by", "assigned_to"
    )


class _IdText(Func):
    """The id of a request as written by programs; SQLite stores it without hyphens."""

    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        parts = (
            f"substr(%(expressions)s, {first}, {length})" for first, length in _ID_PARTS
        )
        return self.as_sql(
            compiler, connection, template=" || '-' || ".join(parts), **more
        )

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(
            compiler, connection, template="CAST(%(expressions)s AS text)", **more
        )


_ID_PARTS = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))


def with_report(requests: QuerySet[ApprovalRequest]) -> QuerySet[ApprovalRequest]:
    """Return the requests with the audit entry of their call's result, in the same read."""
    call = Coalesce("tool_call_id", _IdText("pk"))
    key = Concat(
        Value("tool.result:"), "scope", Value(":"), call, output_field=CharField()
    )
    entry = AuditEntry.objects.filter(dedup_key=OuterRef("report_key")).values("body")[
        :1
    ]
    return requests.alias(report_key=key).annotate(report=Subquery(entry))  # type: ignore[no-redef]


def with_names(requests: QuerySet[ApprovalRequest]) -> QuerySet[ApprovalRequest]:
    """Return the requests with the display names of their deciders and claimants, in the same read."""

    def name_of(pk: str, recorded: str) -> Subquery:
        # If one of the person's keys acted, the recorded name is that of the key.
        people = User.objects.filter(pk=OuterRef(pk), username=OuterRef(recorded))
        return Subquery(people.values("first_name")[:1])

    decided = name_of("decision__by_id", "decision__by_name")
    claimed = name_of("claimed_by_id", "claimed_name")
    return requests.annotate(decided_display=decided, claimed_display=claimed)  # type: ignore[no-redef]


#: A request with its workflow, its decision and its people.
WHOLE_REQUEST: Prepared[ApprovalRequest] = Prepared(
    lambda: with_names(
        with_report(whole_requests()).filter(pk=Parameter("pk", UUIDField()))
    )
)


def get_request_for(viewer: Standing, request_id: UUID) -> ApprovalRequest:
    request = WHOLE_REQUEST.first(pk=request_id)
    if request is None or not may_see(viewer, request):
        raise NotFound
    return request


def find_call(scope: str, tool_call_id: str) -> ApprovalRequest | None:
    """Return a client's first request for a tool call; None if there is none."""
    requests = with_report(whole_requests()).filter(
        scope=scope, tool_call_id=tool_call_id
    )
    return requests.order_by("created_at").first()


#: Digits of the number in a series of equal calls. With these keys, texts sort the same in every collation.
SERIES_DIGITS = 8

#: Maximum requests with one id that are searched for the one that a report is about.
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


#: The latest request of a series of equal calls.
_LATEST: Prepared[ApprovalRequest] = Prepared(lambda: _series()[:1])
#: The latest request of a series with the same content.
_LATEST_SAME: Prepared[ApprovalRequest] = Prepared(
    lambda: _series(ask_digest=Parameter("digest", CharField()))[:1]
)
#: The latest requests of a tool in a series.
_LATEST_OF_TOOL: Prepared[ApprovalRequest] = Prepared(
    lambda: _series(tool_name=Parameter("tool", CharField()))[:MAX_SERIES]
)


def _bounds(key: str) -> dict[str, str]:
    return {"first": key, "last": key + "9" * SERIES_DIGITS}


def latest_of_calls(
    scope: str, key: str, *, digest: str | None = None
) -> ApprovalRequest | None:
    """Return a client's last request for equal calls (`asking.origins.EqualCalls`); None if there is none.

    With a `digest`, the last one with that content.
    """
    if digest is None:
        return _LATEST.first(scope=scope, **_bounds(key))
    return _LATEST_SAME.first(scope=scope, digest=digest, **_bounds(key))


def calls_of_tool(scope: str, key: str, tool: str) -> list[ApprovalRequest]:
    """Return a client's last requests for calls of a tool under one id, latest first."""
    return _LATEST_OF_TOOL.all(scope=scope, tool=tool, **_bounds(key))


def latest_of_session(scope: str, session: str, agent: str) -> ApprovalRequest | None:
    """Return the last request of a session of a coding agent; None if there is none."""
    requests = ApprovalRequest.objects.filter(
        scope=scope, workflow__thread_id=session, agent=agent
    )
    return requests.order_by("-created_at", "-id").first()


def approved_in_session(
    scope: str, session: str, agent: str, tool: str
) -> list[ApprovalRequest]:
    """Return the last approved calls of a tool in a session of a coding agent, latest first."""
    requests = with_report(whole_requests()).filter(
        scope=scope,
        workflow__thread_id=session,
        agent=agent,
        tool_name=tool,
        status=Status.APPROVED,
    )
    return list(requests.order_by("-created_at", "-id")[:MAX_SERIES])


def changed_since(viewer: Standing, moment: datetime) -> QuerySet[ApprovalRequest]:
    """Return the requests that changed since `moment`, oldest change first."""
    return (
        with_names(requests_for(viewer))
        .filter(changed_at__gte=moment)
        .order_by("changed_at", "id")
    )


def user_named(name: str) -> User | AnonymousUser:
    """Return the active user with that name, or AnonymousUser: actions refuse both with the same message."""
    # Databases do not accept a NUL character.
    user = (
        User.objects.filter(username=name, is_active=True).first()
        if "\x00" not in name
        else None
    )
    return user or AnonymousUser()


def capped_count(rows: QuerySet[Any]) -> int:
    """Count rows, up to COUNT_LIMIT."""
    return rows.order_by()[:COUNT_LIMIT].count()
