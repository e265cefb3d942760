"""Check that audit entries are unchanged: the columns against the body, and the body against its digest.

This detects a changed column or body. It cannot detect an entry that was deleted, or rewritten with a matching digest:
entries are not chained.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from approvals.db.canonical_json import utc
from approvals.models import AuditEntry
from approvals.record.audit import Subject, repeat_key
from approvals.record.events import ONCE, VERDICTS

#: Entries per query, few because one may be megabytes long.
PAGE = 50
#: Columns that the body repeats under the same names, besides `at`.
REPEATED = (*asdict(Subject(scope="")), "event", "actor_id", "actor_name", "via")


@dataclass(frozen=True, slots=True)
class Altered:
    """A changed entry, with the columns that differ."""

    entry: AuditEntry
    columns: list[str]

    def __str__(self) -> str:
        # An attacker may have chosen these values, so line breaks in them are escaped.
        event = ascii(self.entry.event).strip("'")
        return f"entry {self.entry.pk} ({event}, {utc(self.entry.at)}): {', '.join(self.columns)}"


def check_entries() -> Iterator[Altered | None]:
    """Check all entries in order, page by page; yield None for each unchanged one."""
    last = 0
    while page := list(AuditEntry.objects.filter(pk__gt=last).order_by("pk")[:PAGE]):
        for entry in page:
            columns = altered_columns(entry)
            yield Altered(entry, columns) if columns else None
        last = page[-1].pk


def altered_columns(entry: AuditEntry) -> list[str]:
    """Return the columns that differ from the body, and `body or digest` where those two do not match."""
    altered = (
        []
        if entry.digest == "sha256:" + hashlib.sha256(entry.body.encode()).hexdigest()
        else ["body or digest"]
    )
    stored: dict[str, Any] = {name: getattr(entry, name) for name in REPEATED} | {
        "at": utc(entry.at)
    }
    stored["request_id"] = str(entry.request_id) if entry.request_id else None
    try:
        # The body leaves out what is empty.
        body = json.loads(entry.body)
        recorded = {
            name: body.get(name, "" if value == "" else None)
            for name, value in stored.items()
        }
    except (ValueError, AttributeError):
        return [*altered, "body (it is no entry)"]
    altered += [name for name in recorded if recorded[name] != stored[name]]
    event = str(recorded["event"])
    data = body["data"] if isinstance(body.get("data"), dict) else {}
    verdict = str(data.get("verdict", "")) if event in VERDICTS else ""
    if entry.verdict != verdict:
        altered.append("verdict")
    names = ("scope", "tool_name", "tool_call_id", "request_id")
    scope, tool, call, request_id = (str(recorded[name]) for name in names)
    subject = Subject(
        scope=scope, tool_name=tool, tool_call_id=call, request_id=request_id
    )
    if entry.dedup_key != (repeat_key(event, subject, data) if event in ONCE else None):
        altered.append("dedup_key")
    return altered
