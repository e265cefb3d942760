"""An entry of the audit log for display."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from approvals.models import AuditEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEntry:
    """An event with its time and actor: an entry without its body, which contains unmasked values."""

    pk: int
    at: datetime
    tool_name: str
    request_id: UUID | None
    thread_id: str
    actor_name: str
    via: str
    retry_count: int
    #: Empty where a page does not show it.
    digest: str


def shown_entry(entry: AuditEntry) -> ShownEntry:
    read = entry.__dict__
    return ShownEntry(
        pk=entry.pk,
        at=entry.at,
        tool_name=entry.tool_name,
        request_id=entry.request_id,
        thread_id=read.get("thread_id") or "",
        actor_name=entry.actor_name,
        via=entry.via,
        retry_count=read.get("retry_count") or 0,
        digest=read.get("digest") or "",
    )
