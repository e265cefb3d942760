"""Write the audit log, one canonical row per event in the transaction of its change, and render rows for export."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from secrets import token_hex
from typing import Any
from uuid import UUID

from django.db.models import CharField, F, Q
from django.utils import timezone

from approvals.asking.secrets import masked_data
from approvals.db.canonical_json import (
    MAX_BYTES,
    MAX_DEPTH,
    canonical,
    plain_number,
    utc,
)
from approvals.db.prepared import Parameter
from approvals.db.prepared_writes import Insert, Update, Write, write_together
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest, AuditEntry, Workflow
from approvals.models.actors import KeyActor, Signatory
from approvals.models.subscriptions import heard
from approvals.record.amounts import DECIMAL, amount_at
from approvals.record.events import DENIED, EVENTS, ONCE, OTHER_INPUT, VERDICTS

#: Characters that start a formula (OWASP, "CSV Injection").
FORMULA = tuple("=+-@＝＋－＠")  # noqa: RUF001 - full-width on purpose

COLUMNS = [
    "id", "at", "event", "scope", "run_id", "request_id", "chat", "agent", "tool",
    "tool_call_id", "actor_id", "person", "via", "amount", "data", "digest", "salt", "retry_count", "last_seen_at",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The subject of an entry: the columns to filter by. `amount` is the amount in the event's input."""

    scope: str
    run_id: str = ""
    request_id: str | None = None
    thread_id: str = ""
    agent: str = ""
    tool_name: str = ""
    tool_call_id: str = ""
    amount: float | None = None


def subject_of(
    request: ApprovalRequest, workflow: Workflow, *, changed: Any = None
) -> Subject:
    """Return the subject of a request's events; `changed` is the changed input, if the event is about one."""
    return Subject(
        scope=request.scope,
        run_id=workflow.key,
        request_id=str(request.pk),
        thread_id=workflow.thread_id,
        agent=workflow.agent,
        tool_name=request.tool_name,
        tool_call_id=request.tool_call_id or "",
        amount=request.amount
        if changed is None
        else amount_at(changed, request.amount_pointer),
    )


#: Adds an entry, and returns whether anyone subscribes to events.
_ENTRY = Insert(AuditEntry, returning=(heard(),))
#: Adds an entry that is recorded once, unless it exists.
_NEW_ENTRY = Insert(AuditEntry, ignore_conflicts=True, returning=(heard(),))
#: Counts a repeat of an entry that is recorded once.
_REPEAT = Update(
    lambda: AuditEntry.objects.filter(dedup_key=Parameter("key", CharField())),
    "last_seen_at",
    retry_count=F("retry_count") + 1,
)


def record(
    event: str,
    subject: Subject,
    *,
    data: JsonMapping,
    actor: Signatory | None,
    via: str,
    at: datetime | None = None,
    open_after: int | None = None,
    changes: Sequence[Write] = (),
) -> bool:
    """Add one entry; call this inside the transaction of the change that it records. `changes` are written with it.

    Return whether anyone subscribes to events (`models.subscriptions.heard`), since most callers also send one.
    """
    entry = _ENTRY.of_row(
        **_row(event, subject, data, actor, via, at or timezone.now()),
        open_after=open_after,
    )
    added = write_together([*changes, entry])[-1]
    assert added is not None
    return bool(added[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry to add; `subject` overrides the subject shared by the entries recorded with it."""

    event: str
    data: JsonMapping
    actor: Signatory | None
    via: str
    subject: Subject | None = None


def record_together(
    entries: Sequence[Entry], subject: Subject, *, at: datetime, open_after: int
) -> bool:
    """Like `record`, for several entries of one moment, in one statement; `open_after` is for those of this subject."""
    rows = [
        _row(
            entry.event,
            entry.subject or subject,
            entry.data,
            entry.actor,
            entry.via,
            at,
        )
        | {"open_after": open_after if entry.subject is None else None}
        for entry in entries
    ]
    return bool(_ENTRY.rows(rows)[0][0])


def record_once(
    event: str,
    subject: Subject,
    *,
    data: JsonMapping,
    actor: Signatory | None,
    via: str,
) -> bool:
    """Like `record`, but once per `repeat_key`: a repeat only counts as a retry. Return whether the entry is new."""
    return record_new(event, subject, data=data, actor=actor, via=via) is not None


def record_new(
    event: str,
    subject: Subject,
    *,
    data: JsonMapping,
    actor: Signatory | None,
    via: str,
) -> bool | None:
    """Like `record_once`, but return the result of `record` for a new entry, and None for a repeat."""
    assert event in ONCE, event
    dedup_key = repeat_key(event, subject, data)
    row = _row(event, subject, data, actor, via, timezone.now())
    added = _NEW_ENTRY.row(**row, dedup_key=dedup_key)
    if added is not None:
        return bool(added[0])
    repeated = _REPEAT.run(key=dedup_key, last_seen_at=row["last_seen_at"])
    assert repeated, f"{dedup_key} is neither new nor there"
    return None


def find_recorded(event: str, subject: Subject) -> AuditEntry | None:
    """Return the entry that `record_once` wrote for the same scope and toolCallId."""
    return AuditEntry.objects.filter(dedup_key=repeat_key(event, subject)).first()


@dataclass(frozen=True, slots=True)
class Reported:
    """Recorded outcomes of a call: its result if there is one, and reports that it ran with another input."""

    result: AuditEntry | None
    other_inputs: Sequence[AuditEntry]


def reports_of(
    requests: Iterable[ApprovalRequest], among: Iterable[AuditEntry] | None = None
) -> Mapping[UUID, Reported]:
    """Return the recorded outcomes of these requests' calls, by request id, in one read.

    A request outside any tool call counts as its own call. `among` are the entries, if already read.
    """
    calls = {
        request.pk: Subject(
            scope=request.scope, tool_call_id=request.tool_call_id or str(request.pk)
        )
        for request in requests
    }
    keys = {pk: repeat_key("tool.result", call) for pk, call in calls.items()}
    # `endswith`, because with an equality SQLite would read all entries of the event instead of those of the requests.
    wanted = Q(dedup_key__in=keys.values()) | Q(
        request_id__in=calls, event__endswith=OTHER_INPUT
    )
    entries = list(
        AuditEntry.objects.filter(wanted).order_by("pk") if among is None else among
    )
    results = {entry.dedup_key: entry for entry in entries}
    others: dict[object, list[AuditEntry]] = {}
    for entry in entries:
        if entry.event == OTHER_INPUT:
            others.setdefault(entry.request_id, []).append(entry)
    return {
        pk: Reported(results.get(key), others.get(pk, ())) for pk, key in keys.items()
    }


def repeat_key(event: str, subject: Subject, data: JsonMapping | None = None) -> str:
    """Return the dedup key of an event that is recorded once: per call, or per request and executed input.

    The key of a denied call includes its tool and input, because model vendors repeat ids.
    """
    if event == OTHER_INPUT:
        return f"{event}:{subject.request_id}:{(data or {}).get('executed_digest')}"
    if event == DENIED:
        call = canonical(
            [subject.tool_call_id, subject.tool_name, (data or {}).get("input_digest")]
        )
        return f"{event}:{subject.scope}:{hashlib.sha256(call).hexdigest()}"
    return f"{event}:{subject.scope}:{subject.tool_call_id}"


def _row(
    event: str,
    subject: Subject,
    data: JsonMapping,
    actor: Signatory | None,
    via: str,
    at: datetime,
) -> JsonDict:
    assert event in EVENTS, event
    columns = {
        name: getattr(subject, name) for name in Subject.__dataclass_fields__
    } | {
        "event": event,
        "actor_id": actor.pk if actor else None,
        "actor_name": actor.get_username() if actor else "",
        "via": via,
    }
    # Each value was checked on arrival; together they may exceed the bounds of one value.
    held = {**columns, "data": dict(data)}
    if subject.amount is None:
        del held["amount"]
    else:
        held["amount"] = plain_number(subject.amount)
    if isinstance(actor, KeyActor) and actor.bearer is not None:
        held["data"] = {**data, "token": asdict(actor.bearer)}
    # Without the salt, which is shown only where nothing is hidden, a hidden value could be found by brute force.
    held |= {"at": utc(at), "salt": token_hex(16)}
    body = canonical(held, max_depth=MAX_DEPTH + 8, max_bytes=8 * MAX_BYTES)
    digest = "sha256:" + hashlib.sha256(body).hexdigest()
    verdict = str(data.get("verdict", "")) if event in VERDICTS else ""
    return {
        **columns,
        "at": at,
        "last_seen_at": at,
        "verdict": verdict,
        "body": body.decode(),
        "digest": digest,
    }


def export_row(entry: AuditEntry) -> JsonDict:
    """Return an entry under the names of COLUMNS, with UTC times in ISO 8601; secrets are masked, but the digest covers them."""
    body = shown_body(entry)
    return {
        "id": entry.pk,
        "at": utc(entry.at),
        "event": entry.event,
        "scope": entry.scope,
        "run_id": entry.run_id,
        "request_id": str(entry.request_id) if entry.request_id else None,
        "chat": entry.thread_id,
        "agent": entry.agent,
        "tool": entry.tool_name,
        "tool_call_id": entry.tool_call_id,
        "actor_id": entry.actor_id,
        "person": entry.actor_name,
        "via": entry.via,
        "amount": None if entry.amount is None else plain_number(entry.amount),
        "data": body["data"],
        "digest": entry.digest,
        "salt": body.get("salt"),
        "retry_count": entry.retry_count,
        "last_seen_at": utc(entry.last_seen_at),
    }


def shown_body(entry: AuditEntry) -> JsonDict:
    """Return the body of an entry for people: masked, and without its salt if anything is masked."""
    body: JsonDict = json.loads(entry.body)
    data = masked_data(body["data"])
    if any(data[name] is not value for name, value in body["data"].items()):
        body.pop("salt", None)
    return body | {"data": data}


def jsonl_line(entry: AuditEntry) -> str:
    return json.dumps(export_row(entry), ensure_ascii=False) + "\n"


def csv_cells(entry: AuditEntry) -> Sequence[str]:
    """Return the cells of one CSV row; a cell that a spreadsheet would run as a formula gets a leading apostrophe."""
    row = export_row(entry)
    row["data"] = json.dumps(row["data"], ensure_ascii=False)
    return ["" if row[name] is None else neutralize(str(row[name])) for name in COLUMNS]


def neutralize(cell: str) -> str:
    """Escape a cell so that no spreadsheet runs it as a formula; some accept full-width signs or leading white space."""
    # A negative number is no formula.
    if DECIMAL.fullmatch(cell):
        return cell
    return (
        f"'{cell}"
        if cell.lstrip().startswith(FORMULA) or cell.startswith(("\t", "\r", "\n"))
        else cell
    )
