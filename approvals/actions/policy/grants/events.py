"""Record and send events of grants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from approvals.db.canonical_json import utc
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import Grant
from approvals.models.actors import Signatory
from approvals.outbound import outbox
from approvals.record import audit
from approvals.record.audit import Entry
from approvals.states import Door, Width
from approvals.text.secrets import mask_text

#: The names of widths in documents and on record.
WIDTHS: Mapping[Width, Literal["input", "fields", "tool"]] = {
    Width.INPUT: "input",
    Width.FIELDS: "fields",
    Width.TOOL: "tool",
}
WIDTH_OF: Mapping[str, Width] = {word: width for width, word in WIDTHS.items()}


def terms_document(grant: Grant) -> JsonDict:
    """Return the recorded terms of a grant, without values of the input, which only some people may see."""
    return {
        "grant_id": str(grant.pk),
        "tool_name": grant.tool_name,
        "covers": WIDTHS[Width(grant.width)],
        "audience": grant.audience,
        "agent": grant.agent,
        "thread_id": grant.thread_id,
        "given_by": grant.given_by_name,
        "until": utc(grant.until) if grant.until else None,
        "uses": grant.uses,
        "used": grant.used,
    }


def publish_grant(
    event: str,
    grant: Grant,
    *,
    actor: Signatory | None,
    via: str,
    more: JsonMapping | None = None,
) -> None:
    """Put an event of a grant on record and into the outbox; the caller holds the lock of its row."""
    request_id = str(grant.request_id)
    subject = _subject_of(grant, request_id)
    data = terms_document(grant) | dict(more or {})
    heard = audit.record(event, subject, data=data, actor=actor, via=via)
    _send(event, grant, data, request_id=request_id, actor=actor, via=via, heard=heard)


def use_entries(grant: Grant, request_id: str) -> list[Entry]:
    """Return the entries of a grant's use: the use, and the end of the grant if it was the last."""
    subject = _subject_of(grant, request_id)
    data = terms_document(grant)
    entries = [
        Entry(
            event="grant.used",
            data=data,
            actor=grant.giver,
            via=Door.GRANT,
            subject=subject,
        )
    ]
    if grant.ended_at is not None:
        ended = data | {"why": grant.ended_why}
        entries.append(
            Entry(
                event="grant.ended",
                data=ended,
                actor=None,
                via=Door.SYSTEM,
                subject=subject,
            )
        )
    return entries


def send_recorded(
    entries: Sequence[Entry], grant: Grant, request_id: str, *, heard: bool
) -> None:
    """Put recorded events of a grant into the outbox."""
    for each in entries:
        _send(
            each.event,
            grant,
            each.data,
            request_id=request_id,
            actor=each.actor,
            via=each.via,
            heard=heard,
        )


def _subject_of(grant: Grant, request_id: str) -> audit.Subject:
    return audit.Subject(
        scope=grant.scope,
        run_id=grant.workflow_key,
        request_id=request_id,
        thread_id=grant.thread_id,
        agent=grant.agent,
        tool_name=grant.tool_name,
    )


def _send(
    event: str,
    grant: Grant,
    data: JsonMapping,
    *,
    request_id: str,
    actor: Signatory | None,
    via: str,
    heard: bool,
) -> None:
    sent = {
        **data,
        "request_id": request_id,
        "by": actor.get_username() if actor else None,
        "via": via,
    }
    if "reason" in sent:
        # The record keeps it unmasked, and masks it for readers.
        sent["reason"] = mask_text(sent["reason"])
    outbox.enqueue(event, stream=f"grant:{grant.pk}", data=sent, heard=heard)
