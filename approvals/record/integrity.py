"""Check that audit entries are unchanged: the columns against the body, and the body against its digest.

This finds a changed column and a changed body. It cannot find an entry that was deleted, or rewritten with a matching
digest: entries are not chained to each other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from approvals.db.canonical_json import utc
from approvals.models import AuditEntry
from approvals.record.amounts import numbers_in
from approvals.record.audit import Subject, repeat_key
from approvals.record.events import DENIED, ONCE, VERDICTS

#: Entries of one query, few because one may be megabytes long.
PAGE = 50
#: Columns that the body repeats under the same names, beside `at`.
REPEATED = (*asdict(Subject(scope="")), "event", "actor_id", "actor_name", "via")
#: The migration that added the column of the verdict, and how long processes of an earlier version may run after it. The
#: first migration replaces it, and is recorded under this name too.
VERDICTS_ADDED, UPGRADE = "0025_audit_page", timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Altered:
    """An entry that was changed, and the columns that differ."""

    entry: AuditEntry
    columns: list[str]

    def __str__(self) -> str:
        # An attacker may have chosen these values, so line breaks in them are escaped.
        event = ascii(self.entry.event).strip("'")
        return f"entry {self.entry.pk} ({event}, {utc(self.entry.at)}): {', '.join(self.columns)}"


def check_entries() -> Iterator[Altered | None]:
    """Check every entry in order, page by page; yield None for each that is unchanged."""
    last = 0
    while page := list(AuditEntry.objects.filter(pk__gt=last).order_by("pk")[:PAGE]):
        for entry in page:
            columns = altered_columns(entry)
            yield Altered(entry, columns) if columns else None
        last = page[-1].pk


def _is_filled_in(entry: AuditEntry, body: Any) -> bool:
    """Return whether the amount can be that of the input, for an entry from before there was one in the body."""
    if entry.amount is None:
        return True
    data = body.get("data") if isinstance(body.get("data"), dict) else {}
    held = data.get("edited_input") or data.get("input")
    if held is None:
        created = AuditEntry.objects.filter(request_id=entry.request_id, event="request.created").exclude(pk=entry.pk)
        return entry.request_id is not None and created.filter(amount=entry.amount).exists()
    return entry.amount in numbers_in(held)


def altered_columns(entry: AuditEntry) -> list[str]:
    """Return the columns that differ from the body, and `body or digest` where those two do not match."""
    altered = [] if entry.digest == "sha256:" + hashlib.sha256(entry.body.encode()).hexdigest() else ["body or digest"]
    stored: dict[str, Any] = {name: getattr(entry, name) for name in REPEATED} | {"at": utc(entry.at)}
    stored["request_id"] = str(entry.request_id) if entry.request_id else None
    try:
        # A column that was added after the entry was written is empty in both.
        body = json.loads(entry.body)
        recorded = {name: body.get(name, "" if value == "" else None) for name, value in stored.items()}
    except (ValueError, AttributeError):
        return [*altered, "body (it is no entry)"]
    if "amount" not in body and _is_filled_in(entry, body):
        recorded["amount"] = entry.amount
    altered += [name for name in recorded if recorded[name] != stored[name]]
    event = str(recorded["event"])
    data = body["data"] if isinstance(body.get("data"), dict) else {}
    verdict = str(data.get("verdict", "")) if event in VERDICTS else ""
    if entry.verdict != verdict and not (entry.verdict == "" and _is_of_an_upgrade(entry)):
        altered.append("verdict")
    names = ("scope", "tool_name", "tool_call_id", "request_id")
    scope, tool, call, request_id = (str(recorded[name]) for name in names)
    subject = Subject(scope=scope, tool_name=tool, tool_call_id=call, request_id=request_id)
    if entry.dedup_key not in _dedup_keys(event, subject, data):
        altered.append("dedup_key")
    return altered


def _dedup_keys(event: str, subject: Subject, data: Mapping[str, Any]) -> Set[str | None]:
    """Return the keys that an entry of this event may have: one, and of a denied call also that of earlier versions."""
    if event not in ONCE:
        return {None}
    key = repeat_key(event, subject, data)
    # They knew it by its id alone.
    return {key, f"{event}:{subject.scope}:{subject.tool_call_id}"} if event == DENIED else {key}


def _is_of_an_upgrade(entry: AuditEntry) -> bool:
    """Return whether a process of an earlier version may have written the entry, without a verdict in its column.

    The upgrade that added the column filled it in older entries. If there are none, this installation began with it.
    """
    known = MigrationRecorder(connection).applied_migrations().get(("approvals", VERDICTS_ADDED))
    if known is None or abs(entry.at - known.applied) > UPGRADE:
        return False
    return AuditEntry.objects.filter(at__lt=known.applied).exists()
