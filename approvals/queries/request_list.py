"""The requests in a person's inbox: filtered, sorted by an index, and paginated."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connections
from django.db.models import BooleanField, F, Func, Q, QuerySet, TextField
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Substr
from django.utils import timezone

from approvals import queries
from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.db.cursors import number_from
from approvals.db.literal import literal
from approvals.db.prepared import Parameter
from approvals.models import ApprovalRequest
from approvals.queries.described import description
from approvals.queries.filters import (
    NO_DEADLINE,
    OVER,
    SPANS,
    Filters,
    ListCursor,
)
from approvals.queries.lists.orders import MOST_URGENT, Order, SortedPart, parts_of
from approvals.queries.lists.snoozes import snoozed_by
from approvals.queries.policy.scopes.first_rows import Reader, first_of, reader
from approvals.queries.search import Hits, hits_of, with_words
from approvals.states import Status

PAGE = 50
#: Columns of a request and its people that a row shows. Others, such as a long conversation, are never read.
SHOWN = ("kind", "title", "tool_name", "canonical_tool", "input_digest", "agent", "priority", "urgency", "deadline_at",
         "status", "created_at", "changed_at", "secrets", "workflow_id", "scope_set_id", "amount", "control", "terms", "proposal",
         "key_made_by_id", "on_behalf_of",
         "policy_version", "rule", "other_rules", "repeats", "attachments",
         "requested_by__username", "requested_by__first_name",
         "assigned_to__username", "assigned_to__first_name")  # fmt: skip
#: Columns of a decision that a row also shows, and of a workflow for the heading of a group.
SHOWN_OF_DECISION = ("decision__verdict", "decision__break_glass", "decision__by_name", "decision__via", "decision__comment",
                     "decision__decided_at", "decision__request_id")  # fmt: skip
SHOWN_OF_WORKFLOW = ("workflow__title", "workflow__key", "workflow__owner_id")
#: How many characters of an input, of a message and of a context a row reads.
GIST = 400
#: Columns that a row does not show, or shows only the beginning of.
HEAVY = ("message", "input", "response_schema", "options", "suggestions", "context", "default_response",
         "decision__answer", "decision__edited_input")  # fmt: skip
COLUMNS = {"agent": "agent", "tool": "canonical_tool", "workflow": "workflow_id"}


def matching(viewer: Standing, filters: Filters) -> QuerySet[ApprovalRequest]:
    """Return the requests that the person may see and that match the filters, unsorted."""
    return _apply(queries.requests_for(viewer), viewer.pk, filters).filter(
        _waiting(filters)
    )


def prepared_rows(
    filters: Filters,
    part: SortedPart,
    limit: int,
    *,
    person: Parameter,
    scope_sets: Parameter | None,
    now: Parameter,
) -> QuerySet[ApprovalRequest]:
    """Return the first rows of a part as a query to be prepared: as the person sees them, or all of them without scope sets."""
    who = None if scope_sets is None else Reader(person, scope_sets)
    return _first_rows(
        who,
        _apply(ApprovalRequest.objects.all(), person, filters, now),
        filters,
        part,
        limit,
    )


def _apply(
    requests: QuerySet[ApprovalRequest],
    person: int | Parameter,
    filters: Filters,
    now: Parameter | None = None,
    hits: Hits | None = None,
) -> QuerySet[ApprovalRequest]:
    """Apply the filters, except the one for waiting requests, which has indexes of its own (`_waiting`)."""
    if filters.status == OVER:
        requests = requests.exclude(status=literal(Status.PENDING))
    elif not filters.waiting and filters.status in set(Status):
        requests = requests.filter(status=filters.status)
    exact = {
        "kind": filters.kind,
        "priority": filters.priority,
        "canonical_tool": filters.tool,
        "agent": filters.agent,
        "decision__by_name": filters.by,
    }
    requests = requests.filter(
        **{lookup: value for lookup, value in exact.items() if value}
    )
    if filters.person:
        # Filter by id: it is in the index that also sorts the list.
        requests = requests.filter(
            requested_by=User.objects.filter(username=filters.person)
            .values_list("pk", flat=True)
            .first()
            or 0
        )
    if filters.mine:
        requests = requests.filter(assigned_to=person)
    requests = requests.filter(*_times(filters))
    if filters.snoozed:
        requests = requests.filter(pk__in=snoozed_by(person, now))
    elif filters.waiting:
        requests = requests.exclude(pk__in=snoozed_by(person, now))
    return (
        _with_words(requests, filters, hits or hits_of(filters.q))
        if filters.q
        else requests
    )


def _with_words(
    requests: QuerySet[ApprovalRequest], filters: Filters, hits: Hits
) -> QuerySet[ApprovalRequest]:
    # Few requests wait. Most of many hits have ended, and the index would read all of them.
    return with_words(
        requests, filters.q, each=hits.many if filters.waiting else None, hits=hits
    )


def _waiting(filters: Filters) -> Q:
    return Q(status=literal(Status.PENDING)) if filters.waiting else Q()


def _times(filters: Filters) -> Iterator[Q]:
    now = timezone.now()
    if filters.age:
        side, _, span = filters.age.partition("-")
        moment = now - SPANS[span]
        yield Q(created_at__gt=moment) if side == "under" else Q(created_at__lte=moment)
    if filters.deadline:
        soon = filters.deadline != NO_DEADLINE
        yield (
            Q(deadline_at__lte=now + SPANS[filters.deadline])
            if soon
            else Q(deadline_at__isnull=True)
        )
    if filters.start:
        yield Q(created_at__gte=_midnight(filters.start))
    if filters.end:
        yield Q(created_at__lt=_midnight(filters.end) + timedelta(days=1))


def _midnight(day: str) -> datetime:
    # `date` has no day after its last one.
    return datetime.combine(
        min(date.fromisoformat(day), date.max - timedelta(days=1)), time(), UTC
    )


def page_of(
    viewer: Standing,
    filters: Filters,
    *,
    only: Q | None = None,
    hits: Hits | None = None,
) -> tuple[list[ApprovalRequest], ListCursor | None]:
    """Return one page, with the beginnings of long columns on each request, and the cursor of the next page or None.

    `only` excludes rows that the page shows elsewhere. `hits` is for several reads with one search.
    """
    hits = hits or (hits_of(filters.q) if filters.q else None)
    parts = parts_of(filters)
    rows = list[ApprovalRequest]()
    begun = filters.after.rank if filters.after and len(parts) > 1 else 0
    for number, part in enumerate(parts[begun:]):
        cursor = filters.after if number == 0 else None
        rows += _rows_of(
            viewer, filters, part, cursor, only or Q(), PAGE + 1 - len(rows), hits
        )
        if len(rows) > PAGE:
            break
    shown = rows[:PAGE]
    more = len(rows) > PAGE
    return shown, cursor_of(shown[-1], filters) if more else None


def _rows_of(
    viewer: Standing,
    filters: Filters,
    part: SortedPart,
    cursor: ListCursor | None,
    only: Q,
    limit: int,
    hits: Hits | None,
) -> list[ApprovalRequest]:
    requests = _apply(
        ApprovalRequest.objects.all(), viewer.pk, filters, hits=hits
    ).filter(only)
    if not viewer.is_active:
        return []
    if cursor is not None:
        requests = requests.filter(_after(requests, filters, part.order, cursor))
    who = None if permissions.sees_everything(viewer) else reader(viewer)
    return list(_first_rows(who, requests, filters, part, limit))


def _first_rows(
    who: Reader | None,
    requests: QuerySet[ApprovalRequest],
    filters: Filters,
    part: SortedPart,
    limit: int,
) -> QuerySet[ApprovalRequest]:
    """Return the first of these requests in a part that someone may see; None sees everything."""
    order = [*([COLUMNS[filters.group]] if filters.group else []), *part.order.fields]
    requests = requests.filter(part.rows)
    indexed = part.order.indexed and not filters.group
    if who is None:
        requests = requests.filter(_waiting(filters))
    elif filters.waiting and not indexed:
        # Few requests wait, so they are read in order until there are enough that the person may see.
        requests = requests.filter(_waiting(filters), who.all_rows)
    else:
        # The first page of the union consists of rows from the first page of each side.
        first = first_of(
            requests.order_by(),
            who,
            order,
            limit,
            waiting=filters.waiting,
            indexed=indexed,
        )
        requests = ApprovalRequest.objects.filter(first)
    return _rows_shown(requests.order_by(*order), filters)[:limit]


def _rows_shown(
    requests: QuerySet[ApprovalRequest], filters: Filters
) -> QuerySet[ApprovalRequest]:
    """Select the columns that the rows of this list show."""
    related = ["requested_by", "assigned_to"]
    columns = [*SHOWN]
    if not filters.waiting:
        related = [*related, "decision"]
        columns = [*columns, *SHOWN_OF_DECISION]
    if filters.group == "workflow":
        related = [*related, "workflow"]
        columns = [*columns, *SHOWN_OF_WORKFLOW]
    return _with_beginnings(
        requests.select_related(*related).only(*columns), decided=not filters.waiting
    )


def first_rows(
    viewer: Standing,
    filters: Filters,
    part: SortedPart,
    limit: int,
    *,
    hits: Hits | None = None,
) -> list[ApprovalRequest]:
    """Return the first rows of a part of the list, for a section of its own."""
    return _rows_of(viewer, filters, part, None, Q(), limit, hits)


def listed(
    requests: QuerySet[ApprovalRequest], *, whole: bool = False
) -> QuerySet[ApprovalRequest]:
    """Annotate data for rows: the beginnings of input, message and context, and the `described` input.

    Large columns are read only if `whole`.
    """
    return _with_beginnings(requests if whole else requests.defer(*HEAVY), decided=True)


def _with_beginnings(
    requests: QuerySet[ApprovalRequest], *, decided: bool
) -> QuerySet[ApprovalRequest]:
    beginnings = {
        "gist": beginning_of_input(GIST, decided=decided),
        "opening": Substr(F("message"), 1, GIST, output_field=TextField()),
        "surroundings": Substr(F("context"), 1, GIST, output_field=TextField()),
        "described": description(),
    }
    return requests.annotate(**beginnings)


def beginning_of_input(length: int, *, decided: bool) -> Func[Any]:
    """Return the beginning of the input as text; of the approved input if the request may be `decided`."""
    original = Substr(F("input"), 1, length, output_field=TextField())
    if not decided:
        return original
    return Coalesce(
        Substr(F("decision__edited_input"), 1, length, output_field=TextField()),
        original,
    )


def count_of(viewer: Standing, filters: Filters, *, hits: Hits | None = None) -> int:
    """Return how many requests match, at most `queries.COUNT_LIMIT`."""
    requests = _apply(
        ApprovalRequest.objects.order_by(), viewer.pk, filters, hits=hits
    ).filter(_waiting(filters))
    if not viewer.is_active:
        return 0
    if permissions.sees_everything(viewer):
        return queries.capped_count(requests)
    who = reader(viewer)
    requested, *others = (requests.filter(who.rows(reason)) for reason in who.reasons)
    # Count a request that is on several sides only once.
    sides = [requested, *(side.exclude(requested_by=viewer.pk) for side in others)]
    sides[2:] = [side.exclude(assigned_to=viewer.pk) for side in sides[2:]]
    return min(sum(queries.capped_count(side) for side in sides), queries.COUNT_LIMIT)


def cursor_of(request: ApprovalRequest, filters: Filters) -> ListCursor:
    """Return the cursor of a request in the list."""
    parts = parts_of(filters)
    number = int(len(parts) > 1 and request.deadline_at is None)
    order = parts[number].order
    rank = request.urgency if order is MOST_URGENT else number
    group = str(getattr(request, COLUMNS[filters.group])) if filters.group else ""
    return ListCursor(rank, order.time_of(request), request.pk, group)


def _after(
    requests: QuerySet[ApprovalRequest],
    filters: Filters,
    order: Order,
    cursor: ListCursor,
) -> Any:
    """Return a condition for the rows after a cursor: a row comparison, for which both databases use the index."""
    operations = connections[requests.db].ops
    values: list[Any] = [cursor.rank] if order is MOST_URGENT else []
    values.append(operations.adapt_datetimefield_value(cursor.at))
    values.append(
        cursor.pk.hex if connections[requests.db].vendor == "sqlite" else cursor.pk
    )
    sign = "<" if order.descends else ">"
    columns = ", ".join(order.columns)
    parameters = ", ".join(["%s"] * len(values))
    after = RawSQL(f"({columns}) {sign} ({parameters})", values, BooleanField())  # noqa: S611 - column names, parameters
    if not filters.group:
        return Q(after)
    column = COLUMNS[filters.group]
    reached: Any = cursor.group
    if filters.group == "workflow":
        reached = number_from(reached) or 0
    return Q(**{f"{column}__gte": reached}) & (
        Q(**{f"{column}__gt": reached}) | Q(after)
    )
