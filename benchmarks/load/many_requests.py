"""A table full of requests, in seconds: rows copied by the database itself, most of them decided, each on record."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.core.management.color import no_style
from django.db import connection
from django.db.models import Model

from approvals.models import ApprovalRequest, AuditEntry, Decision, Grant, Workflow
from approvals.models.search import SearchText

#: Of so many requests one waits.
ONE_WAITS_OF = 50
#: One of 1,000 has an amount from 5,000.
_AMOUNT = "CASE WHEN n %% 1000 = 7 THEN 5000 + n ELSE n %% 1000 END"
#: Fills an installation of benchmarks.
SCRIPT = (
    "from django.contrib.auth.models import User; from benchmarks.load.many_requests import fill\n"
    "fill({number}, asker=User.objects.get(username='requester'))"
)


def fill(number: int, *, asker: User, scope_sets: Sequence[int] = ()) -> None:
    """So many requests like the last one, a second apart into the past, each in a workflow of its own.

    Every tenth is the asker's. Each scope set, of ids in a row, has as many as the others, and as many that wait. If there
    is a grant, every twentieth request was approved with one like it.
    """
    one = ApprovalRequest.objects.select_related("workflow").latest("created_at")
    entry = AuditEntry.objects.filter(request_id=one.pk).latest("pk")
    decision = Decision.objects.latest("pk")
    first = Workflow.objects.latest("pk").pk
    waits = f"n %% {ONE_WAITS_OF} = 0"
    state = f"CASE WHEN {waits} THEN 'suspended' ELSE 'completed' END"
    ended = f"CASE WHEN {waits} THEN NULL ELSE {_ago('n')} END"
    since = f"CASE WHEN {waits} THEN {_ago('n')} ELSE NULL END"
    urgent = f"CASE WHEN {waits} THEN n %% 4 ELSE NULL END"
    theirs = f"CASE WHEN n %% 10 = 7 THEN {asker.pk} ELSE one.{{column}} END"
    opened = f"CASE WHEN {waits} THEN 1 ELSE 0 END"
    _copy(
        Workflow,
        one.workflow_id,
        number,
        id=f"{first} + n",
        key=_uuid_text("n"),
        state=state,
        open_count=opened,
        urgency=urgent,
        suspended_at=since,
        started_at=_ago("n"),
        ended_at=ended,
        title="'Refund order ' || n || '?'",
        owner_id=theirs.format(column="owner_id"),
    )
    _copy(
        ApprovalRequest,
        one.pk,
        number,
        id=_uuid("n"),
        workflow_id=f"{first} + n",
        requested_by_id=theirs.format(column="requested_by_id"),
        tool_call_id="'call-' || n",
        idempotency_key="NULL",
        title="'Refund order ' || n || '?'",
        tool_name="'tool-' || (n %% 20)",
        canonical_tool="'tool-' || (n %% 20)",
        urgency="n %% 4",
        amount=_AMOUNT,
        scope_set_id=f"{scope_sets[0]} + (n + n / {ONE_WAITS_OF}) %% {len(scope_sets)}"
        if scope_sets
        else "NULL",
        status=f"CASE WHEN {waits} THEN 'pending' ELSE 'approved' END",
        created_at=_ago("n"),
        changed_at=_ago("n"),
    )
    words = SearchText.objects.get(request=one)
    _copy(
        SearchText,
        words.pk,
        number,
        id=f"{words.pk} + n",
        request_id=_uuid("n"),
        words="one.words || ' no' || n",
    )
    _copy(
        Decision,
        decision.pk,
        number,
        id=f"{decision.pk} + n",
        request_id=_uuid("n"),
        decided_at=_ago("n"),
        _where=f"NOT ({waits})",
    )
    if (grant := Grant.objects.order_by("given_at").last()) is not None:
        _copy(
            Grant,
            grant.pk,
            number,
            id=_uuid("n"),
            request_id=_uuid("n"),
            given_at=_ago("n"),
            _where="n %% 20 = 1",
        )
    _copy(
        AuditEntry,
        entry.pk,
        number,
        id=f"{entry.pk} + 10 + n",
        request_id=_uuid("n"),
        dedup_key="NULL",
        run_id=_uuid_text("n"),
        tool_name="'tool-' || (n %% 20)",
        tool_call_id="'call-' || n",
        amount=_AMOUNT,
        at=_ago(f"({number} - n)"),
        last_seen_at=_ago(f"({number} - n)"),
    )
    with connection.cursor() as cursor:
        for sql in connection.ops.sequence_reset_sql(
            no_style(), [Workflow, Decision, AuditEntry, SearchText]
        ):
            cursor.execute(sql)
        cursor.execute("ANALYZE")


def _copy(
    model: type[Model], pk: object, number: int, *, _where: str = "TRUE", **changes: str
) -> None:
    table, columns = (
        model._meta.db_table,
        [field.column for field in model._meta.concrete_fields],
    )
    values = ", ".join(changes.get(name, f'one."{name}"') for name in columns)
    names = ", ".join(f'"{name}"' for name in columns)
    stored = model._meta.pk.get_db_prep_value(pk, connection)
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {number}) "
            f"INSERT INTO {table} ({names}) SELECT {values} FROM numbers, {table} one WHERE one.id = %s AND {_where}",
            [stored],
        )


def _ago(seconds: str) -> str:
    if connection.vendor == "postgresql":
        return f"now() - {seconds} * interval '1 second'"
    return (
        f"strftime('%%Y-%%m-%%d %%H:%%M:%%f000', 'now', '-' || {seconds} || ' seconds')"
    )


def _uuid_text(number: str) -> str:
    padded = (
        f"lpad(({number})::text, 12, '0')"
        if connection.vendor == "postgresql"
        else f"printf('%%012d', {number})"
    )
    return f"'00000000-0000-4000-8000-' || {padded}"


def _uuid(number: str) -> str:
    if connection.vendor == "postgresql":
        return f"({_uuid_text(number)})::uuid"
    return f"'00000000000040008000' || printf('%%012d', {number})"
