"""Export a chat with all its rows as one JSON document (docs/reference/chat-export.md), in pieces.

Between pieces, no thread, connection or transaction is held, and never more than a page of rows.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from approvals.db import pool
from approvals.db.canonical_json import utc
from approvals.json_types import JsonDict
from approvals.models import ApprovalRequest, AuditEntry, Decision
from approvals.record import audit
from approvals.text.file_references import FILES
from approvals.text.secrets import masked
from chats import queries
from chats.exceptions import ChatPruned
from chats.models import Attachment, Chat, Message, Step, ToolCall, Turn, TurnCheckpoint
from chats.queries.recoveries import recoveries_of
from chats.queries.secrets import secret_names_of

FORMAT = "pausepoint.chat"
VERSION = 2
#: Rows per query, and the minimum characters of a piece: a row may be a megabyte.
PAGE = 20
PIECE = 250_000
#: Relations of a request that its document needs.
JOINED = ("decision", "requested_by", "assigned_to")
_TIMES = {
    "created_at",
    "updated_at",
    "ended_at",
    "cut_at",
    "started_at",
    "finished_at",
    "deadline_at",
    "changed_at",
}


@dataclass(frozen=True, slots=True)
class Section:
    """An array of the document: its rows, ordered by primary key, and the function that makes a row's document."""

    name: str
    rows: QuerySet[Any]
    document: Callable[[Any], JsonDict]


def headers(chat: Chat) -> dict[str, str]:
    """Return the headers of the response. Raise ChatPruned, because an empty document would look like an empty chat."""
    if chat.pruned_at is not None:
        raise ChatPruned
    return {
        "Content-Disposition": f'attachment; filename="chat-{chat.pk}.json"',
        "Cache-Control": "no-store",
    }


async def pieces(chat: Chat, *, masks: bool = True) -> AsyncIterator[bytes]:
    """Yield the document as UTF-8, in pieces of about PIECE characters, at most a page of rows longer.

    It holds secrets only with `masks=False`: for a program of the owner, which sent or received them.
    """
    opening = {
        "format": FORMAT,
        "version": VERSION,
        "exported_at": utc(timezone.now()),
        "chat": chat_document(chat),
    }
    secrets = [*await pool.run(secret_names_of, chat), "digest_salt"] if masks else None
    yield _json(opening).encode()[:-1]
    name = comma = ""
    for section in sections(chat):
        if section.name != name:
            yield f"{'],' if name else ','}\n{_json(section.name)}: [".encode()
        if section.name != name:
            comma = ""
        name = section.name
        last = None
        more = True
        while more:
            more, last, text = await pool.run(_piece, section, last, secrets)
            if text:
                yield f"{comma}{text}".encode()
                comma = ","
    yield b"]}\n"


def _piece(
    section: Section, last: Any, secrets: Collection[str] | None
) -> tuple[bool, Any, str]:
    """Return whether there may be more rows, the last row's key, and the documents, separated by commas."""
    documents: list[str] = []
    length = 0
    while length < PIECE:
        ordered = section.rows.order_by("pk")
        page = list(
            ordered[:PAGE] if last is None else ordered.filter(pk__gt=last)[:PAGE]
        )
        shown = (section.document(row) for row in page)
        documents += [
            f"\n{_json(each if secrets is None else masked(each, secrets))}"
            for each in shown
        ]
        length += sum(map(len, documents[-len(page) :])) if page else 0
        last = page[-1].pk if page else last
        if len(page) < PAGE:
            return False, last, ",".join(documents)
    return True, last, ",".join(documents)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def sections(chat: Chat) -> Iterator[Section]:
    """Yield the arrays of the document: rows of the chat and of the sub-agents below it."""
    family = Q(chat=chat.pk) | Q(chat__root=chat.pk)
    chats = Chat.objects.filter(root=chat.pk).select_related("owner")
    calls = ToolCall.objects.filter(family)
    yield Section("sub_agents", chats, chat_document)
    yield Section("messages", Message.objects.filter(family), _message)
    yield Section("files", Attachment.objects.filter(family).defer("content"), _file)
    yield Section("turns", Turn.objects.filter(family), _turn)
    yield Section(
        "steps",
        Step.objects.filter(Q(turn__chat=chat.pk) | Q(turn__chat__root=chat.pk)),
        _step,
    )
    yield Section("tool_calls", calls, _call)
    numbers = Chat.objects.filter(Q(pk=chat.pk) | Q(root=chat.pk)).values("pk")
    yield Section(
        "checkpoints", TurnCheckpoint.objects.filter(chat_pk__in=numbers), _checkpoint
    )
    requests = ApprovalRequest.objects.none()
    entries = AuditEntry.objects.filter(scope=chat.scope)
    if chat.root_id is None:
        requests = ApprovalRequest.objects.filter(scope=chat.scope).select_related(
            *JOINED
        )
        # A branch's older requests belong to the original chat.
        approved = calls.exclude(approval__scope=chat.scope)
        recovered = recoveries_of(chat, calls).exclude(scope=chat.scope)
    else:
        approved = calls
        recovered = recoveries_of(chat, calls)
        entries = entries.filter(tool_call_id__in=calls.values("tool_call_id"))
    yield Section("requests", requests, _request)
    joined = [f"approval__{name}" for name in JOINED]
    yield Section(
        "requests",
        approved.filter(approval__isnull=False).select_related(*joined),
        _approval,
    )
    yield Section("requests", recovered.select_related(*JOINED), _request)
    yield Section("audit", entries, audit.export_row)
    yield Section(
        "branches",
        Chat.objects.filter(branched_from=chat.pk).select_related("owner"),
        chat_document,
    )


def _approval(call: ToolCall) -> JsonDict:
    assert call.approval is not None
    return _request(call.approval)


def chat_document(chat: Chat) -> JsonDict:
    return _fields(chat, "agent", "title", "created_at", "updated_at") | {
        "chat": chat.pk,
        "id": chat.public_id,
        "owner": chat.owner.get_username(),
        "above": chat.root_id,
        "branched_from": {"chat": chat.branched_from_id, "checkpoint": chat.branched_at}
        if chat.branched_at
        else None,
    }


def _message(row: Message) -> JsonDict:
    row = queries.with_parts(row)
    return {"chat": row.chat_id} | _fields(
        row,
        "message_id",
        "role",
        "position",
        "parts",
        "metadata",
        "created_at",
        "cut_at",
    )


def _file(row: Attachment) -> JsonDict:
    known = {
        "chat": row.chat_id,
        "file": str(row.file_id),
        "url": f"{FILES}{row.file_id}",
    }
    return known | _fields(row, "media_type", "name", "size", "digest", "created_at")


def _turn(row: Turn) -> JsonDict:
    names = (
        "agent",
        "agent_version",
        "source",
        "state",
        "finish_reason",
        "stopped",
        "stopped_by",
        "error",
        "usage",
    )
    known = {
        "turn": row.pk,
        "chat": row.chat_id,
        "run_id": str(row.run_id),
        "parent_call": row.parent_call_id,
    }
    return known | _fields(row, "message_id", *names, "created_at", "ended_at")


def _step(row: Step) -> JsonDict:
    names = (
        "index",
        "blocks",
        "provider",
        "model",
        "stop_reason",
        "stop_details",
        "usage",
        "answered_by",
        "created_at",
    )
    return {"step": row.pk, "turn": row.turn_id} | _fields(row, *names)


def _call(row: ToolCall) -> JsonDict:
    names = (
        "tool_call_id",
        "name",
        "input",
        "state",
        "attempt",
        "output",
        "error_text",
        "executed_digest",
    )
    known = {
        "call": row.pk,
        "chat": row.chat_id,
        "turn": row.turn_id,
        "step": row.step_id,
    }
    request_ids = {"approval": row.approval_id, "recovery": row.recovery_id}
    requests = {name: str(key) if key else None for name, key in request_ids.items()}
    return known | _fields(row, *names, "started_at", "finished_at") | requests


def _checkpoint(row: TurnCheckpoint) -> JsonDict:
    names = (
        "message_id",
        "ordinal",
        "kind",
        "finish_reason",
        "stopped",
        "error",
        "kept",
        "tail",
        "digest",
        "digest_salt",
    )
    known = {
        "checkpoint": row.pk,
        "chat": row.chat_pk,
        "turn": row.turn_pk,
        "run_id": str(row.run_id),
    }
    return known | _fields(row, *names, "created_at")


def _request(row: ApprovalRequest) -> JsonDict:
    names = ("scope", "kind", "title", "message", "tool_name", "tool_call_id", "attempt", "step_path", "input",
             "input_digest", "digest_salt", "response_schema", "options", "multiple", "allow_text", "field_name", "suggestions",
             "context", "priority", "has_default", "default_response", "status", "created_at", "deadline_at")  # fmt: skip
    people = {
        "requested_by": row.requested_by.get_username(),
        "assigned_to": row.assigned_to.get_username()
        if row.assigned_to is not None
        else None,
    }
    decision = queries.decision_of(row)
    return (
        {"request": str(row.pk)}
        | _fields(row, *names)
        | people
        | {"decision": decision and _decision(decision)}
    )


def _decision(row: Decision) -> JsonDict:
    names = (
        "verdict",
        "via",
        "comment",
        "edited_input",
        "approved_digest",
        "digest_salt",
        "answer",
    )
    return (
        {"by": row.by_name or None}
        | _fields(row, *names)
        | {"decided_at": utc(row.decided_at)}
    )


def _fields(row: Any, *names: str) -> JsonDict:
    values = {name: getattr(row, name) for name in names}
    if "digest_salt" in values:
        values["digest_salt"] = values["digest_salt"] or None
    return {
        name: utc(value) if name in _TIMES and value is not None else value
        for name, value in values.items()
    }
