"""End grants: revoked by a person, expired or no longer allowed, and all of them by *Ask about everything*."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Case, TextField, Value, When
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.standing import read_again
from approvals.actions.logins import SUBJECT
from approvals.actions.policy.grants.events import publish_grant
from approvals.db.canonical_json import clean_text
from approvals.db.due import for_each_due
from approvals.exceptions import Conflict, NotAllowed
from approvals.models import AskAlways, Grant
from approvals.models.actors import Actor
from approvals.outbound import outbox
from approvals.policy.grants import MAX_REASON
from approvals.queries.policy.grants.givers import NOTHING, powers_of_givers
from approvals.queries.policy.grants.grant_sql import due_grants, endings
from approvals.queries.policy.grants.ledger import find_grant, may_end, may_stop_grants
from approvals.record import audit
from approvals.states import Door, GrantEnd
from approvals.text.secrets import mask_text


def revoke_grant(grant_id: UUID, *, reason: str = "", by: Actor, via: Door) -> Grant:
    """End a grant, on record; an ended one stays unchanged. Raise NotFound or NotAllowed.

    A concurrent use is either counted before, or refused.
    """
    with transaction.atomic():
        # The lock first, so that no use falls between the read and the write.
        Grant.objects.select_for_update(no_key=True).filter(pk=grant_id).first()
        standing = read_again(by)
        grant = find_grant(standing, grant_id)
        if not may_end(standing, grant):
            raise NotAllowed(_("You can see this grant, but you cannot end it."))
        if grant.ended_at is None:
            grant.ended_at = timezone.now()
            grant.ended_why = GrantEnd.REVOKED
            grant.ended_by_id, grant.ended_by_name = by.pk, by.get_username()
            grant.save(
                update_fields=["ended_at", "ended_why", "ended_by_id", "ended_by_name"]
            )
            cleaned = clean_text(reason.strip())[:MAX_REASON]
            publish_grant(
                "grant.revoked", grant, actor=by, via=via, more={"reason": cleaned}
            )
    return grant


def end_due_grants() -> None:
    """End the grants that have expired, whose giver may no longer decide, or that their tool's settings forbid."""
    for_each_due(due_grants(Now()).order_by("given_at"), _end_if_due)


def _end_if_due(grant_id: UUID) -> None:
    reasons = (
        When(condition, then=Value(why)) for why, condition in endings(Now()).items()
    )
    why_now = Case(*reasons, default=Value(""), output_field=TextField())
    with transaction.atomic():
        locked = Grant.objects.filter(pk=grant_id, ended_at=None).select_for_update(
            no_key=True, skip_locked=True
        )
        grant = locked.annotate(why_now=why_now).first()
        if grant is None or not (why := vars(grant).pop("why_now")):
            return
        _end(grant, why)


def end_lost_grants(before: Mapping[UUID, float]) -> None:
    """End for good the grants whose givers may decide less than `before`, in the transaction of their loss.

    So no grant comes back when its giver regains the right, whether or not the sweep has run in between.
    """
    if not before:
        return
    after = powers_of_givers()
    lost = [pk for pk, power in before.items() if after.get(pk, NOTHING) < power]
    active = (
        set(User.objects.filter(is_active=True).values_list("pk", flat=True))
        if lost
        else set()
    )
    for grant in (
        Grant.objects.filter(pk__in=lost, ended_at=None)
        .order_by("pk")
        .select_for_update(no_key=True)
    ):
        _end(
            grant,
            GrantEnd.RIGHT_LOST if grant.given_by_id in active else GrantEnd.GIVER_LEFT,
        )


def _end(grant: Grant, why: GrantEnd) -> None:
    grant.ended_at = timezone.now()
    grant.ended_why = why
    grant.save(update_fields=["ended_at", "ended_why"])
    publish_grant("grant.ended", grant, actor=None, via=Door.SYSTEM, more={"why": why})


def ask_about_everything(*, on: bool, reason: str = "", by: Actor, via: Door) -> None:
    """Switch *Ask about everything*, which suspends all grants, on or off, on record. Raise NotAllowed or Conflict."""
    reason = clean_text(reason.strip())[:MAX_REASON]
    with transaction.atomic():
        if not may_stop_grants(read_again(by)):
            raise NotAllowed(
                _(
                    "Only people who can decide, and administrators, can stop or resume grants."
                )
            )
        if on:
            values = {
                "since": timezone.now(),
                "by_id": by.pk,
                "by_name": by.get_username(),
                "reason": reason,
            }
            _row, changed = AskAlways.objects.get_or_create(pk=1, defaults=values)
        else:
            changed = bool(AskAlways.objects.filter(pk=1).delete()[0])
        if not changed:
            raise Conflict(_("It is already on.") if on else _("It is already off."))
        event = "grant.stopped" if on else "grant.resumed"
        heard = audit.record(event, SUBJECT, data={"reason": reason}, actor=by, via=via)
        data = {"reason": mask_text(reason), "by": by.get_username(), "via": via}
        outbox.enqueue(event, stream="grants", data=data, heard=heard)
