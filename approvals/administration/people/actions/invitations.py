"""Invite people without a password and cancel invitations, on record."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.actions.changes import record_alone, request_change
from approvals.administration.changeable import (
    changeable_person,
    is_protected,
    lock_people,
    record_person,
    waits_for_second,
)
from approvals.administration.people.invitations import VALID_FOR
from approvals.exceptions import Conflict
from approvals.models import Invitation, PendingChange
from approvals.states import Door


def invite_person(
    person_id: int, *, mailed: bool, by: User
) -> Invitation | PendingChange:
    """Create an invitation, which invalidates the person's earlier one. Raise NotFound, NotAllowed or Conflict.

    If it is not mailed and its link needs another administrator, return the pending change instead.
    """
    with transaction.atomic():
        standing = lock_people(by)
        person = changeable_person(person_id, standing)
        if not person.is_active:
            raise Conflict(_("This person is deactivated. Activate them first."))
        if person.has_usable_password():
            raise Conflict(
                _(
                    "This person already has a password. Create a link if they need a new one."
                )
            )
        if not mailed and waits_for_second(person, standing):
            return request_change(
                PendingChange.Kind.LINK, None, person=person, by=by, via=Door.DASHBOARD
            )
        if not mailed and is_protected(person):
            about = {"user": person.get_username(), "user_id": person.pk}
            record_alone(PendingChange.Kind.LINK, **about, by=by, via=Door.DASHBOARD)
        now = timezone.now()
        fields = {
            "sent_at": now,
            "expires_at": now + VALID_FOR,
            "invited_by": by.get_username(),
            "mailed": mailed,
        }
        invitation, new = Invitation.objects.update_or_create(
            person=person, defaults=fields
        )
        change = "invited" if new else "invited again"
        data = {"change": change, "email": person.email, "mailed": mailed}
        record_person("person.invited", person, data, by=by)
    return invitation


def withdraw_invitation(person_id: int, *, by: User) -> User:
    """Invalidate the link of an invitation; the person stays. Raise NotFound, NotAllowed, or Conflict if there is none."""
    with transaction.atomic():
        standing = lock_people(by)
        person = changeable_person(person_id, standing)
        removed, _rows = Invitation.objects.filter(person=person).delete()
        if not removed:
            raise Conflict(
                _(
                    "There is no pending invitation. It may already have been accepted or cancelled."
                )
            )
        record_person("person.invited", person, {"change": "withdrawn"}, by=by)
    return person
