"""Pending changes for a second administrator, as people read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User

from approvals.access.administrators import needs_second
from approvals.access.standing import standing_of
from approvals.administration.changes.nouns import NOUNS
from approvals.administration.people.queries import AccountChange, account_changes
from approvals.db.canonical_json import digest
from approvals.models import PendingChange
from approvals.policy.policies import MAX_BYTES

#: Changes per page, and lines of a change that are shown at once.
MOST = 50


@dataclass(frozen=True, slots=True)
class PendingRow:
    """A pending change. `words`: its effect. `confirmable`: whether this viewer may confirm it.

    `shown` is the digest of everything that the row displays, and is compared on confirmation. `earlier` has the latest changes
    of the account, so that a reader sees if someone else could by now read its mail or know its password.
    """

    change: PendingChange
    words: str
    lines: Sequence[tuple[str, str]]
    address: str
    confirmable: bool
    shown: str
    earlier: Sequence[AccountChange]


def pending_changes(
    viewer: User,
    *,
    kinds: Collection[str] = (),
    person: User | None = None,
    subject: str = "",
) -> list[PendingRow]:
    """Return the changes pending for an administrator, oldest first, filtered by kind, person and subject."""
    changes = PendingChange.objects.select_related("person", "requested_by").order_by(
        "requested_at", "pk"
    )
    if kinds:
        changes = changes.filter(kind__in=kinds)
    if person is not None:
        changes = changes.filter(person=person)
    if subject:
        changes = changes.filter(subject=subject)
    waiting = list(changes[:MOST])
    earlier = account_changes(
        {change.person_id for change in waiting if change.person_id is not None}
    )
    return [
        _row(change, viewer, earlier.get(change.person_id or 0, ()))
        for change in waiting
    ]


def pending_row(change: PendingChange, viewer: User) -> PendingRow:
    """Return one pending change."""
    earlier = account_changes(
        {change.person_id} if change.person_id is not None else set()
    )
    return _row(change, viewer, earlier.get(change.person_id or 0, ()))


def shown_digest(change: PendingChange) -> str:
    """Return the digest of a change as displayed: requester, new value and current state."""
    noun = NOUNS[change.kind]
    shown = {
        "id": change.pk,
        "value": change.value,
        "before": change.before,
        "requested_by": change.requested_by_id,
        "now": noun.now(change),
        "words": noun.words(change),
        "lines": list(noun.lines(change)),
    }
    return digest(shown, max_bytes=8 * MAX_BYTES)


def _row(
    change: PendingChange, viewer: User, earlier: Sequence[AccountChange]
) -> PendingRow:
    noun = NOUNS[change.kind]
    return PendingRow(
        change,
        noun.words(change),
        [(line[:1], line) for line in noun.lines(change)],
        noun.address(change),
        may_confirm(change, viewer) and not change.expired,
        shown_digest(change),
        earlier,
    )


def may_confirm(change: PendingChange, viewer: User) -> bool:
    """Return whether `viewer` is neither the requester nor the person concerned."""
    if viewer.pk == change.requested_by_id and needs_second(standing_of(viewer)):
        return False
    return viewer.pk != change.person_id or change.kind == PendingChange.Kind.ROLE_TAKEN
