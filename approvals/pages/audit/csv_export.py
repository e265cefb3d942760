"""The audit log as a spreadsheet for people: a row per entry in the words of the page, streamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import unescape

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.utils import timezone, translation
from django.utils.html import strip_tags
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from approvals.models import AuditEntry
from approvals.pages.audit.lines import MAX_VALUES, AuditLine, lines
from approvals.queries.audit import for_lines, subjects_of
from approvals.record.audit import neutralize
from approvals.record.export import BYTE_ORDER_MARK, csv_pieces, download
from approvals.states import via_label
from approvals.text.text import visible


def csv_for_people(entries: QuerySet[AuditEntry]) -> StreamingHttpResponse:
    """Return the entries as CSV in the language and time zone of the page; JSONL is the full record."""
    language = translation.get_language()
    zone = timezone.get_current_timezone()

    def rows(page: Sequence[AuditEntry]) -> Iterator[Sequence[str]]:
        # The rows are rendered in another thread.
        with translation.override(language), timezone.override(zone):
            for line in lines(page, subjects_of(page)):
                yield [neutralize(cell) for cell in _cells(line)]

    pieces = csv_pieces(for_lines(entries), BYTE_ORDER_MARK, _header(), rows)
    return download(pieces, "csv")


def _header() -> Sequence[str]:
    # The names of the values differ from tool to tool.
    values = [
        title % {"number": number}
        for number in range(1, MAX_VALUES + 1)
        for title in (_("Field %(number)d"), _("Value %(number)d"))
    ]
    return [
        _("Time (%(zone)s)") % {"zone": timezone.get_current_timezone_name()},
        *(_("Event"), _("Verdict"), _("Title"), _("Tool"), _("Amount")),
        *values,
        *(_("Message"), _("Person"), _("Via"), _("Request"), _("Entry"), _("Digest")),
    ]


def _cells(line: AuditLine) -> Sequence[str]:
    entry = line.entry
    # A formatted value is HTML.
    values = [
        unescape(strip_tags(text)) if isinstance(text, SafeString) else text
        for pair in line.values
        for text in pair
    ]
    values += [""] * (2 * MAX_VALUES - len(values))
    return [
        f"{timezone.localtime(entry.at):%Y-%m-%d %H:%M:%S}",
        line.text,
        line.verdict,
        line.request.title if line.request else "",
        visible(entry.tool_name),
        line.amount,
        *values,
        line.note,
        ", ".join(map(visible, line.people)),
        via_label(entry.via),
        str(entry.request_id or ""),
        str(entry.pk),
        entry.digest,
    ]
