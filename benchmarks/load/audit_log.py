"""An audit log of any length, in minutes: entries that the database copies from one real cycle, in batches."""

from __future__ import annotations

from django.core.management.color import no_style
from django.db import connection, transaction

from approvals.models import AuditEntry
from benchmarks.load.many_requests import _ago, _uuid, _uuid_text

BATCH = 250_000
#: The events of a cycle, in order; every entry is one of them, and three in a row are about one request.
CYCLE = ("request.created", "request.decided", "tool.result")


def fill_audit_log(number: int, begin: int = 0, end: int | None = None) -> None:
    """Add so many entries, or of these the ones from `begin` to `end`.

    They are three seconds apart, the last one is now, by 50 people about 20 tools.
    One decision of 1,000 is a rejection, one of 10,000 has changes, and one entry of 100,000 is an expiry. The entries are
    about the requests that `many_requests.fill` makes, as far as there are any.
    """
    last = AuditEntry.objects.latest("pk").pk
    end = number if end is None else end
    for done in range(begin, end, BATCH):
        with transaction.atomic():
            _add(last + 1 - begin, done, min(done + BATCH, end), number)
    with connection.cursor() as cursor:
        for sql in connection.ops.sequence_reset_sql(no_style(), [AuditEntry]):
            cursor.execute(sql)
        cursor.execute("ANALYZE approvals_auditentry")


def _add(first: int, begin: int, end: int, number: int) -> None:
    examples = [
        AuditEntry.objects.filter(event=event).latest("pk").pk for event in CYCLE
    ]
    request = "(n / 3 + 1)"
    rejected, changed = f"{request} %% 1000 = 0", f"{request} %% 10000 = 5"
    verdict = f"CASE WHEN {rejected} THEN 'reject' WHEN {changed} THEN 'edit' ELSE 'approve' END"
    changes = {
        "id": f"{first} + n",
        "at": _ago(f"(({number} - n) * 3)"),
        "event": "CASE WHEN n %% 100000 = 1 THEN 'request.expired' ELSE one.event END",
        "dedup_key": "NULL",
        "run_id": _uuid_text(request),
        "request_id": _uuid(request),
        "tool_name": f"'tool-' || ({request} %% 20)",
        "tool_call_id": f"'call-' || {request}",
        "actor_name": "'person-' || (n %% 50)",
        # One of 1,000 is large, and the oldest 60,000 are larger.
        "amount": f"CASE WHEN n < 60000 THEN 1000000 WHEN {request} %% 1000 = 7 THEN 5000 ELSE {request} %% 1000 END",
        "verdict": f"CASE WHEN one.event = 'request.decided' THEN {verdict} ELSE '' END",
        "last_seen_at": _ago(f"(({number} - n) * 3)"),
    }
    columns = [field.column for field in AuditEntry._meta.concrete_fields]
    values = ", ".join(changes.get(name, f'one."{name}"') for name in columns)
    example = " ".join(f"WHEN {place} THEN {pk}" for place, pk in enumerate(examples))
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH RECURSIVE numbers(n) AS (SELECT {begin} UNION ALL SELECT n + 1 FROM numbers WHERE n < {end - 1}) "
            f"INSERT INTO approvals_auditentry ({', '.join(columns)}) SELECT {values} "
            f"FROM numbers JOIN approvals_auditentry one ON one.id = CASE n %% 3 {example} END",
            [],
        )
