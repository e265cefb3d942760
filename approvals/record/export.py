"""The audit log as a file, streamed piece by piece; none is read before the server has taken the one before it.

An async generator, because Django turns a sync one into a list under ASGI. Between pieces it holds no thread, connection
or transaction. `hitlsite.server.daphne` asks for the next one only when the client has taken what was sent.
"""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.utils import timezone

from approvals.models import AuditEntry
from approvals.record import audit, sequence
from approvals.runtime import database

#: Rows of one query, and the length from which a piece is sent: an entry may be a megabyte, so few rows at a time.
PAGE = 50
PIECE = 250_000
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


def export(entries: QuerySet[AuditEntry], kind: str) -> StreamingHttpResponse:
    """The entries as a download, in the order of events; `kind` is a key of TYPES."""
    name = f"audit-{timezone.now():%Y-%m-%d}.{kind}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(lines(entries, kind), content_type=TYPES[kind], headers=headers)


def lines(entries: QuerySet[AuditEntry], kind: str) -> AsyncIterator[str]:
    """The entries as text, piece by piece; `kind` is a key of TYPES."""
    return csv_pieces(entries) if kind == "csv" else pieces(entries, _jsonl)


async def csv_pieces(entries: QuerySet[AuditEntry]) -> AsyncIterator[str]:
    """RFC 4180, with a header row."""
    yield _csv([audit.COLUMNS])
    async for piece in pieces(entries, lambda page: _csv(map(audit.csv_cells, page))):
        yield piece


async def pieces(entries: QuerySet[AuditEntry], render: Callable[[Sequence[AuditEntry]], str]) -> AsyncIterator[str]:
    """The rendered entries, PIECE characters and at most one page more at a time."""
    settled = await database.run(sequence.last_settled)
    # Who reads on behind the last entry they have would miss for good what comes before it.
    ordered = (entries if settled is None else entries.filter(pk__lte=settled)).order_by("pk")
    last: int | None = 0
    while last is not None:
        piece, last = await database.run(_piece, ordered, last, render)
        yield piece


def _piece(
    ordered: QuerySet[AuditEntry], last: int, render: Callable[[Sequence[AuditEntry]], str]
) -> tuple[str, int | None]:
    """The entries after `last` as text, and the last one's id; None when there are no more."""
    # Rendered here and not on the event loop, which long entries would hold up for seconds.
    text = io.StringIO(newline="")
    while text.tell() < PIECE:
        page = list(ordered.filter(pk__gt=last)[:PAGE])
        text.write(render(page))
        if len(page) < PAGE:
            return text.getvalue(), None
        last = page[-1].pk
    return text.getvalue(), last


def _jsonl(page: Sequence[AuditEntry]) -> str:
    return "".join(map(audit.jsonl_line, page))


def _csv(rows: Iterable[Sequence[str]]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    return out.getvalue()
