"""Add the advice of a program to a request. Advice can raise the priority; it never lowers it, and never decides."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.keys import KEY_SCOPE
from approvals.actions import checking, rows
from approvals.actions.expiring import expire_if_overdue
from approvals.actions.lists.snoozing import end_snoozes
from approvals.actions.locking import Locked, lock_visible_request
from approvals.actions.publishing import publish_event
from approvals.asking.asks import URGENCY
from approvals.db.canonical_json import clean_text
from approvals.exceptions import Conflict, Invalid, NotAllowed
from approvals.models import Advice, ApprovalRequest
from approvals.models.actors import Actor, KeyActor
from approvals.models.attention import MAX_ADVICE, MAX_TEXT
from approvals.states import Door, Hint, Priority
from approvals.text.numbers import grouped


@dataclass(frozen=True, slots=True)
class Advised:
    """Stored advice; `replayed` if the same key had said exactly this before."""

    advice: Advice
    replayed: bool = False


def advise(
    request_id: UUID, *, by: Actor, via: Door, hint: Hint, text: str, raise_priority: Priority | None = None
) -> Advised:
    """Add advice to a waiting request, and raise its priority if `raise_priority` is above it.

    NotFound, NotAllowed (not a key, or the key that asked), Invalid, Conflict (the request has MAX_ADVICE already),
    AlreadyDecided, Expired.
    """
    text = clean_text(text.strip())
    if not isinstance(by, KeyActor):
        raise NotAllowed(_("Only programs with an API key give advice. People write internal notes."))
    if not text or len(text) > MAX_TEXT:
        error = _("is longer than %(most)s characters") % {"most": grouped(MAX_TEXT)} if text else _("is empty")
        raise Invalid(_("The advice could not be saved."), {"text": error})
    with transaction.atomic():
        locked = lock_visible_request(request_id, by)
        request = locked.request
        if request.scope == f"{KEY_SCOPE}{by.key.pk}":
            raise NotAllowed(_("A key cannot advise on a request that it made. Use a key of its own for the reviewer."))
        known = _same(request, by, hint, text, raise_priority)
        if known is not None:
            return Advised(known, replayed=True)
        if request.pending and not expire_if_overdue(locked):
            return Advised(_store(locked, by, via, hint, text, raise_priority))
    # Outside the transaction: an expiry that was just written has to stay.
    raise checking.too_late(request.decision)


def _same(
    request: ApprovalRequest, by: KeyActor, hint: Hint, text: str, raise_priority: Priority | None
) -> Advice | None:
    """Return what this key has said before, if it was the same."""
    if not request.advised:
        return None
    known = Advice.objects.filter(request_id=request.pk, key_id=by.key.pk, hint=hint, priority=raise_priority or "")
    return next((advice for advice in known.order_by("id") if advice.text == text), None)


def _store(locked: Locked, by: KeyActor, via: Door, hint: Hint, text: str, raise_priority: Priority | None) -> Advice:
    request, now = locked.request, timezone.now()
    count = (request.advised or 0) + 1
    if count > MAX_ADVICE:
        message = _("This request has %(most)s pieces of advice already, and takes no more.") % {"most": MAX_ADVICE}
        raise Conflict(message, str(request.pk))
    before = request.priority
    raises = raise_priority is not None and URGENCY[raise_priority] < request.urgency
    advice = Advice.objects.create(
        request_id=request.pk,
        by_id=by.pk,
        by_name=by.get_username(),
        key_id=by.key.pk,
        hint=hint,
        text=text,
        priority=raise_priority or "",
        raised_from=before if raises else "",
        at=now,
    )
    request.advised = count
    changes: dict[str, object] = {"advised": count}
    record: dict[str, object] = {"advice_id": advice.pk, "hint": hint, "text": text}
    if raises and raise_priority is not None:
        changes |= _raise(locked, raise_priority, now)
        record |= {"priority": raise_priority, "priority_before": before}
        end_snoozes(request, by=by)
    ApprovalRequest.objects.filter(pk=request.pk).update(**changes)
    publish_event("request.advised", request, locked.workflow, record=record, actor=by, via=via, at=now)
    return advice


def _raise(locked: Locked, priority: Priority, now: datetime) -> dict[str, object]:
    """Give the locked request a higher priority, and its workflow the urgency that follows; return what changes in its row."""
    request, workflow = locked.request, locked.workflow
    changes: dict[str, object] = {"priority": priority, "urgency": URGENCY[priority], "changed_at": now}
    for name, value in changes.items():
        setattr(request, name, value)
    workflow.urgency = min(request.urgency, request.urgency if workflow.urgency is None else workflow.urgency)
    rows.count(workflow)
    return changes
