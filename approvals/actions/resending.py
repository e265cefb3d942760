"""Send events of the outbox once more."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from approvals.models import OutboxEvent
from approvals.record import audit
from approvals.states import Door


def resend_events(events: QuerySet[OutboxEvent], *, by: User, via: str = Door.ADMIN) -> int:
    """Send these events again, also those that were delivered or given up, on record; return how many."""
    with transaction.atomic():
        rows = list(events.select_for_update())
        for row in rows:
            data = {"event_id": str(row.event_id), "event": row.name, "target": row.target.partition("?")[0]}
            audit.record("event.resent", _subject_of(row), data=data, actor=by, via=via)
        OutboxEvent.objects.filter(pk__in=[row.pk for row in rows]).update(
            delivered_at=None, dead_at=None, next_attempt_at=Now(), sent_again_at=Now(), attempts=0
        )
    return len(rows)


def _subject_of(row: OutboxEvent) -> audit.Subject:
    names = ("thread_id", "agent", "tool_name", "tool_call_id")
    known: dict[str, Any] = {name: str(row.payload.get(name) or "") for name in names}
    run_id = str(row.payload["run_id"])
    scope = row.stream.removesuffix(f":{run_id}")
    return audit.Subject(scope=scope, run_id=run_id, request_id=row.payload.get("request_id"), **known)
