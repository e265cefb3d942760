"""Confirm and withdraw changes that need a second administrator, on record."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.administrators import needs_second
from approvals.access.standing import Standing, standing_of
from approvals.actions.changes import record_step
from approvals.administration.changeable import changeable_person, lock_people
from approvals.administration.changes.nouns import NOUNS
from approvals.administration.changes.queries import shown_digest
from approvals.db.canonical_json import same_json
from approvals.db.transactions import lock_name
from approvals.exceptions import Conflict, NotAllowed, NotFound
from approvals.models import PendingChange
from approvals.states import Door


class ShownOtherwise(Conflict):
    """The change, or the state that it replaces, differs from the one the administrator saw."""


def confirm_change(change_id: int, *, shown: str, by: User) -> PendingChange:
    """Confirm another administrator's change, on record. `shown` is the digest of the change as displayed to `by`.

    Raise NotFound, NotAllowed, ShownOtherwise if the display is out of date, or Conflict. The caller makes any password link and
    shows it to this administrator.
    """
    with transaction.atomic():
        standing = lock_people(by)
        change = _locked(change_id)
        noun = NOUNS[change.kind]
        if change.person_id is not None:
            change.person = changeable_person(change.person_id, standing)
        _require_second(change, standing)
        noun.require_other(change, standing)
        if shown != shown_digest(change):
            raise ShownOtherwise(
                _(
                    "This change is different from what you were shown. Nothing was confirmed. Read it again:"
                )
            )
        if noun.replaces and not same_json(noun.now(change), change.before):
            raise Conflict(
                _(
                    "Someone has changed what this would replace. Cancel this change, and request it again."
                )
            )
        noun.carry_out(change, by=by)
        record_step(change, "confirmed", by=by, via=Door.DASHBOARD)
        PendingChange.objects.filter(pk=change.pk).delete()
    return change


def withdraw_change(change_id: int, *, by: User) -> PendingChange:
    """Remove a pending change, on record; its requester always may. Raise NotFound or NotAllowed."""
    with transaction.atomic():
        standing = lock_people(by)
        change = _locked(change_id)
        if by.pk != change.requested_by_id and change.person_id is not None:
            changeable_person(change.person_id, standing)
        NOUNS[change.kind].give_up(change, by=by)
        record_step(change, "withdrawn", by=by, via=Door.DASHBOARD)
        PendingChange.objects.filter(pk=change.pk).delete()
    return change


def _locked(change_id: int) -> PendingChange:
    """Return a locked pending change, under the locks of its subject. Raise NotFound."""
    waiting = PendingChange.objects.select_related("person", "requested_by").filter(
        pk=change_id
    )
    kind = waiting.values_list("kind", flat=True).first()
    if kind is not None and NOUNS[kind].lock:
        lock_name(NOUNS[kind].lock)
    change = waiting.select_for_update(of=("self",)).first()
    if change is None:
        raise NotFound(
            _("This change is no longer waiting. It was confirmed or cancelled.")
        )
    return change


def _require_second(change: PendingChange, by: Standing) -> None:
    """Raise NotAllowed or Conflict unless this is another administrator and the change has not expired."""
    if by.pk == change.person_id and change.kind != PendingChange.Kind.ROLE_TAKEN:
        raise NotAllowed(
            _(
                "You cannot confirm a change to your own access. Ask another administrator."
            )
        )
    if by.pk == change.requested_by_id and needs_second(by):
        raise NotAllowed(
            _("You requested this change. Another administrator must confirm it.")
        )
    if not permissions.may_administer(standing_of(change.requested_by)):
        raise Conflict(
            _(
                "The requester is no longer an administrator. Cancel this change, and request it again."
            )
        )
    # By the clock of the database, as for all deadlines.
    if PendingChange.objects.filter(
        pk=change.pk, requested_at__lte=Now() - PendingChange.VALID_FOR
    ).exists():
        message = _(
            "This was requested more than %(days)d days ago. Cancel it, and request it again."
        )
        raise Conflict(message % {"days": PendingChange.VALID_FOR.days})
