"""Whether audit entries still say what was recorded: their columns against their body, and the body against its digest.

It finds what was changed beside the body, or the body itself. Who can write to the database and rewrites an entry whole, or
removes it whole, leaves nothing that this could find.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from approvals.audit import Subject, repeat_key, utc
from approvals.models import AuditEntry

#: Entries of one query: one may be megabytes long.
PAGE = 50
#: Columns that the body repeats under the same names, beside `at`.
REPEATED = (*asdict(Subject(scope="")), "event", "actor_id", "actor_name", "via")


@dataclass(frozen=True, slots=True)
class Altered:
    """An entry that does not say what was recorded: the columns that differ."""

    entry: AuditEntry
    columns: list[str]

    def __str__(self) -> str:
        # Whatever it says now may be what somebody put there: one line, without control characters.
        event = ascii(self.entry.event).strip("'")
        return f"entry {self.entry.pk} ({event}, {utc(self.entry.at)}): {', '.join(self.columns)}"


def checked() -> Iterator[Altered | None]:
    """Every entry of the record in order, page by page: None where it is whole."""
    last = 0
    while page := list(AuditEntry.objects.filter(pk__gt=last).order_by("pk")[:PAGE]):
        for entry in page:
            columns = altered_columns(entry)
            yield Altered(entry, columns) if columns else None
        last = page[-1].pk


def altered_columns(entry: AuditEntry) -> list[str]:
    """The columns of an entry that differ from its body, and `body or digest` where these two do not fit together."""
    found = [] if entry.digest == "sha256:" + hashlib.sha256(entry.body.encode()).hexdigest() else ["body or digest"]
    stored: dict[str, Any] = {name: getattr(entry, name) for name in REPEATED} | {"at": utc(entry.at)}
    stored["request_id"] = str(entry.request_id) if entry.request_id else None
    try:
        # A column that is younger than the entry is empty in both.
        body = json.loads(entry.body)
        said = {name: body.get(name, "" if value == "" else None) for name, value in stored.items()}
    except (ValueError, AttributeError):
        return [*found, "body (it is no entry)"]
    found += [name for name in said if said[name] != stored[name]]
    subject = Subject(scope=str(said["scope"]), tool_call_id=str(said["tool_call_id"]))
    if entry.dedup_key not in {None, repeat_key(str(said["event"]), subject)}:
        found.append("dedup_key")
    return found
