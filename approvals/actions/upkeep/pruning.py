"""Remove old rows: delivered events, expired sessions, stored states, past absences. Requests, decisions and the record stay.

Each call removes one bounded batch in one transaction.
"""

from __future__ import annotations

from datetime import datetime

from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from approvals.db.canonical_json import utc
from approvals.models import (
    Absence,
    ApprovalRequest,
    OutboxEvent,
    PersonSession,
    ResumeState,
)
from approvals.record import audit
from approvals.states import Door, Status

BATCH = 1000


def record_removed(before: datetime, **removed: int) -> None:
    """Record the removal of data of the desk older than `before`: the number of rows by kind."""
    data = {"before": utc(before), **removed}
    subject = audit.Subject(scope="desk")
    audit.record("retention.pruned", subject, data=data, actor=None, via=Door.SYSTEM)


def old_delivered(before: datetime) -> QuerySet[OutboxEvent]:
    """Return events delivered before then. Events that were given up stay, and can be resent."""
    return OutboxEvent.objects.filter(created_at__lt=before, delivered_at__lt=before)


def prune_delivered(before: datetime, *, after: int = 0) -> tuple[int, int | None]:
    """Remove one batch of `old_delivered` with ids above `after`, on record.

    Return the number of removed rows, and the id to continue from; None when there are no more.
    """
    with transaction.atomic():
        events = (
            old_delivered(before)
            .filter(pk__gt=after)
            .order_by("pk")
            .select_for_update(skip_locked=True)
        )
        ids = list(events.values_list("pk", flat=True)[:BATCH])
        removed, _ = OutboxEvent.objects.filter(pk__in=ids).delete()
        if removed:
            record_removed(before, outbox_events=removed)
    return removed, ids[-1] if len(ids) == BATCH else None


def old_sessions() -> QuerySet[Session]:
    """Return expired sessions."""
    return Session.objects.filter(expire_date__lt=timezone.now())


def prune_sessions() -> int:
    """Remove one batch of `old_sessions`; return their number."""
    ids = list(
        old_sessions().order_by("expire_date").values_list("pk", flat=True)[:BATCH]
    )
    removed, _ = Session.objects.filter(pk__in=ids).delete()
    # Also of sessions that ended by log-out, whose rows are gone.
    gone = PersonSession.objects.filter(
        ~Exists(Session.objects.filter(pk=OuterRef("session_key")))
    )
    PersonSession.objects.filter(
        pk__in=gone.order_by("pk").values("pk")[:BATCH]
    ).delete()
    return removed


def old_states(before: datetime) -> QuerySet[ResumeState]:
    """Return the stored states of requests that ended before then, and were not resumed since."""
    ended = ApprovalRequest.objects.filter(
        pk=OuterRef("request"), changed_at__lt=before
    ).exclude(status=Status.PENDING)
    return ResumeState.objects.filter(Exists(ended)).exclude(sealed="")


def prune_states(before: datetime) -> int:
    """Erase one batch of `old_states`, on record; return their number. The empty row remains to show that there was a state."""
    with transaction.atomic():
        states = old_states(before).order_by("pk").select_for_update(skip_locked=True)
        erased = ResumeState.objects.filter(
            pk__in=list(states.values_list("pk", flat=True)[:BATCH])
        ).update(sealed="")
        if erased:
            record_removed(before, resume_states=erased)
    return erased


def old_absences(before: datetime) -> QuerySet[Absence]:
    """Return the absences that ended before then. Votes and decisions made on someone's behalf name the person themselves."""
    return Absence.objects.filter(until__lt=before)


def prune_absences(before: datetime) -> int:
    """Remove one batch of `old_absences`, on record; return their number."""
    with transaction.atomic():
        absences = (
            old_absences(before).order_by("pk").select_for_update(skip_locked=True)
        )
        removed, _ = Absence.objects.filter(
            pk__in=list(absences.values_list("pk", flat=True)[:BATCH])
        ).delete()
        if removed:
            record_removed(before, absences=removed)
    return removed
