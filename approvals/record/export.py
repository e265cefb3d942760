"""Export the audit log as a file, streamed in pieces.

The pieces come from an async generator, because under ASGI Django turns a sync one into a list. Between pieces it holds no
thread, connection or transaction. `hitlsite.server.daphne` requests the next piece only when the client has taken the last.
"""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.utils import timezone

from approvals.db import pool
from approvals.models import AuditEntry
from approvals.record import audit, ocsf, sequence

#: Rows per query, few because an entry may be a megabyte; and the minimum characters of a piece.
PAGE = 50
PIECE = 250_000
#: The byte order mark tells spreadsheets that a download is UTF-8; API clients do not need it.
BYTE_ORDER_MARK = "\ufeff"
LINES = "application/x-ndjson"
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": LINES, "ocsf": LINES}


def export(entries: QuerySet[AuditEntry], kind: str) -> StreamingHttpResponse:
    """Return the entries as a download for people, in the order of events; `kind` is a key of TYPES."""
    body = (
        csv_pieces(entries, BYTE_ORDER_MARK) if kind == "csv" else lines(entries, kind)
    )
    return download(body, kind)


def download(body: AsyncIterator[str], kind: str) -> StreamingHttpResponse:
    """Return a text as a download, piece by piece; `kind` is a key of TYPES."""
    ending = "ocsf.jsonl" if kind == "ocsf" else kind
    name = f"audit-{timezone.now():%Y-%m-%d}.{ending}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(body, content_type=TYPES[kind], headers=headers)


def lines(entries: QuerySet[AuditEntry], kind: str) -> AsyncIterator[str]:
    """Return the entries as text, piece by piece; `kind` is a key of TYPES."""
    if kind == "csv":
        return csv_pieces(entries)
    return pieces(entries, _ocsf if kind == "ocsf" else _jsonl)


def _rows(page: Sequence[AuditEntry]) -> Iterable[Sequence[str]]:
    return map(audit.csv_cells, page)


async def csv_pieces(
    entries: QuerySet[AuditEntry],
    begin: str = "",
    header: Sequence[str] = audit.COLUMNS,
    rows: Callable[[Sequence[AuditEntry]], Iterable[Sequence[str]]] = _rows,
) -> AsyncIterator[str]:
    """Yield `begin`, and the entries as CSV (RFC 4180) with a header row."""
    yield begin + _csv([header])
    async for piece in pieces(entries, lambda page: _csv(rows(page))):
        yield piece


async def pieces(
    entries: QuerySet[AuditEntry], render: Callable[[Sequence[AuditEntry]], str]
) -> AsyncIterator[str]:
    """Yield the rendered entries, at least PIECE characters at a time except for the last piece."""
    settled = await pool.run(sequence.last_settled)
    # A reader continues after the last entry, and would miss one that is committed later with a lower id.
    ordered = (
        entries if settled is None else entries.filter(pk__lte=settled)
    ).order_by("pk")
    last: int | None = 0
    while last is not None:
        piece, last = await pool.run(_piece, ordered, last, render)
        yield piece


def _piece(
    ordered: QuerySet[AuditEntry],
    last: int,
    render: Callable[[Sequence[AuditEntry]], str],
) -> tuple[str, int | None]:
    """Return the entries after `last` as text, and the id of the last one; None when there are no more."""
    # Rendered in this thread, because long entries would block the event loop for seconds.
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


def _ocsf(page: Sequence[AuditEntry]) -> str:
    return "".join(map(ocsf.ocsf_line, page))


def _csv(rows: Iterable[Sequence[str]]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    return out.getvalue()
