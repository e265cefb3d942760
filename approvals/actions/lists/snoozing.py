"""Snooze requests: hide them from one's own inbox for a while, and show them again."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import queries
from approvals.access.standing import standing_of
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest, Snooze
from approvals.models.actors import Actor

#: Maximum time of a snooze.
LONGEST = timedelta(days=30)


def snooze(request_id: UUID, *, by: User, until: datetime | None) -> Snooze:
    """Hide a waiting request from this person's inbox until then, or until someone replies (None).

    A reply always ends it. It lasts at most half the time to the deadline, and at most LONGEST. Raise NotFound or Invalid.
    """
    request = queries.get_request_for(standing_of(by), request_id)
    now = timezone.now()
    if not request.pending:
        raise Invalid(
            _("This request is already decided."),
            {"until": _("only waiting requests can be snoozed")},
        )
    if until is not None and until <= now:
        raise Invalid(_("The request was not snoozed."), {"until": _("is in the past")})
    latest = latest_end(request, now)
    end = latest if until is None else min(until, latest)
    with transaction.atomic():
        stored, _new = Snooze.objects.update_or_create(
            person=by,
            request=request,
            defaults={"until": end, "until_reply": until is None},
        )
    return stored


def latest_end(request: ApprovalRequest, now: datetime) -> datetime:
    """Return the latest possible end of a snooze."""
    if request.deadline_at is None:
        return now + LONGEST
    return min(now + LONGEST, now + max(request.deadline_at - now, timedelta()) / 2)


def unsnooze(request_id: UUID, *, by: User) -> None:
    """Show a request in this person's inbox again; nothing changes if it is not snoozed."""
    with transaction.atomic():
        Snooze.objects.filter(person=by, request=request_id).delete()


def end_snoozes(request: ApprovalRequest, *, by: Actor) -> None:
    """Show a request again to everyone who has snoozed it, after a reply by someone else. Call it in a transaction."""
    Snooze.objects.filter(request=request.pk).exclude(person=by.pk).delete()
