"""Changes that wait for a second administrator, as this one sees and confirms them."""

from __future__ import annotations

from django.contrib.auth.models import User

from approvals.administration.changes.actions import confirm_change
from approvals.administration.changes.queries import shown_digest
from approvals.models import PendingChange


def waiting_change(kind: str = "") -> PendingChange:
    """The one change that waits, or the one of this kind."""
    return PendingChange.objects.get(**({"kind": kind} if kind else {}))


def confirm(change: PendingChange, by: User, *, shown: str = "") -> PendingChange:
    """Confirm a change as it is shown now, or as it was shown before."""
    return confirm_change(change.pk, shown=shown or shown_digest(change), by=by)
