"""The audit log as a file: streamed in constant memory, page by page, and no page is read before the client wants it.

An async generator, because Django turns a sync one into a list under ASGI.
"""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Sequence

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.utils import timezone

from approvals import audit, dbpool
from approvals.models import AuditEntry

PAGE = 500
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


def export(entries: QuerySet[AuditEntry], kind: str) -> StreamingHttpResponse:
    """The entries as a download, in the order of events; `kind` is a key of TYPES."""
    lines = csv_pages(entries) if kind == "csv" else jsonl_pages(entries)
    name = f"audit-{timezone.now():%Y-%m-%d}.{kind}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(lines, content_type=TYPES[kind], headers=headers)


async def csv_pages(entries: QuerySet[AuditEntry]) -> AsyncIterator[str]:
    """RFC 4180, with a header row."""
    yield _csv([audit.COLUMNS])
    async for page in pages(entries):
        yield _csv([audit.csv_cells(entry) for entry in page])


async def jsonl_pages(entries: QuerySet[AuditEntry]) -> AsyncIterator[str]:
    async for page in pages(entries):
        yield "".join(audit.jsonl_line(entry) for entry in page)


async def pages(entries: QuerySet[AuditEntry]) -> AsyncIterator[list[AuditEntry]]:
    """PAGE rows at a time, each read when it is asked for."""
    ordered, last = entries.order_by("pk"), 0
    while page := await dbpool.run(_read, ordered, last):
        yield page
        last = page[-1].pk


def _read(ordered: QuerySet[AuditEntry], last: int) -> list[AuditEntry]:
    return list(ordered.filter(pk__gt=last)[:PAGE])


def _csv(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()
