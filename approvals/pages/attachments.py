"""Previews of text, CSV and PDF files of a request, shown on its page when unfolded."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from approvals.exceptions import NotFound
from approvals.forms.shown_calls import shown_files
from approvals.http import SignedIn, refusals_as_pages
from approvals.models.attachments import files_of
from approvals.queries import get_request_for
from approvals.queries.attachments import attachment_for, content_of
from approvals.text.file_types import CSV, PDF, download_name
from approvals.text.grids import MAX_COLUMNS, MAX_ROWS
from approvals.text.text import visible

#: Lines and characters of a text, and characters of a cell that a page shows.
MAX_LINES = 500
MAX_CHARACTERS = 30_000
MAX_CELL = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePreview:
    """The beginning of a file, as `text` or as a table; `whole` if nothing is left out."""

    whole: bool
    text: str = ""
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


@require_GET
@refusals_as_pages
def attachment(request: SignedIn, pk: UUID, attachment_id: UUID) -> HttpResponse:
    """Show the beginning of a text or CSV file of a request that the person may see, or the frame of a PDF."""
    files = shown_files(pk, files_of(get_request_for(request.standing, pk).attachments))
    file = next(
        (
            file
            for file in files
            if file.known.id == str(attachment_id) and file.preview
        ),
        None,
    )
    if file is None:
        raise NotFound
    content = content_of(file.known)
    context: dict[str, Any] = {"file": file}
    if file.known.is_text:
        text = content.decode("utf-8-sig")
        table = table_of(text) if file.known.media_type == CSV else None
        context["preview"] = table or text_of(text)
    return render(request, "approvals/request/_attachment_preview.html", context)


@require_GET
@refusals_as_pages
def pdf(request: SignedIn, pk: UUID, attachment_id: UUID) -> HttpResponse:
    """Return a PDF for the frame on the page of its request, where the viewer of the browser shows it.

    No browser shows one in a sandbox, so the type is fixed, and the policy forbids everything but that viewer.
    """
    file = attachment_for(request.standing, pk, attachment_id)
    if file.media_type != PDF:
        raise NotFound
    name = download_name(file.name, PDF)
    headers = {
        "Content-Disposition": content_disposition_header(False, name) or "inline",
        "Content-Security-Policy": "default-src 'none'; object-src 'self'; frame-ancestors 'self'",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "SAMEORIGIN",
    }
    return HttpResponse(content_of(file), content_type=PDF, headers=headers)


def text_of(text: str) -> FilePreview:
    """Return the beginning of a text."""
    shown = "\n".join(text[:MAX_CHARACTERS].split("\n")[:MAX_LINES])
    return FilePreview(text=visible(shown), whole=len(shown) == len(text))


def table_of(text: str) -> FilePreview | None:
    """Return the beginning of a CSV table; None if it is not CSV. Cells are plain text, never evaluated as in a spreadsheet."""
    # Rows end as in CSV, not at other Unicode line separators, as with `splitlines`.
    lines = StringIO(text, newline="")
    delimiter = max(",;\t", key=lines.readline().count)
    lines.seek(0)
    try:
        rows = list(
            islice(csv.reader(lines, delimiter=delimiter, strict=True), MAX_ROWS + 1)
        )
    except csv.Error:
        return None
    if not rows:
        return None
    whole = len(rows) <= MAX_ROWS and all(
        len(row) <= MAX_COLUMNS and all(len(cell) <= MAX_CELL for cell in row)
        for row in rows
    )
    shown = [
        [visible(_cut(cell)) for cell in row[:MAX_COLUMNS]] for row in rows[:MAX_ROWS]
    ]
    return FilePreview(head=shown[0], rows=shown[1:], whole=whole)


def _cut(cell: str) -> str:
    return cell if len(cell) <= MAX_CELL else f"{cell[:MAX_CELL]}…"
