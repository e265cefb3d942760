"""Changes that need a second administrator, and the record of those that one administrator made alone.

An action that loosens something either requests the change from another administrator, or makes it and records that there was
none: `change_or_request`. `approvals.administration.changes` confirms and withdraws pending changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from approvals.access.administrators import needs_second
from approvals.access.standing import Standing
from approvals.actions.logins import SUBJECT
from approvals.models import PendingChange
from approvals.outbound.waiting_changes import tell_administrators
from approvals.record import audit
from approvals.states import Door

Kind = PendingChange.Kind

#: Changes of people's access are recorded with the other changes of these people.
OF_PEOPLE = frozenset(
    {
        Kind.ROLES,
        Kind.EMAIL,
        Kind.LINK,
        Kind.FACTORS,
        Kind.RIGHTS,
        Kind.ROLE_TAKEN,
        Kind.TEAMS,
    }
)
#: Members of a value that are never recorded.
_UNRECORDED = frozenset({"secret", "secret_hash"})


def change_or_request(
    kind: Kind,
    value: Any,
    *,
    loosens: bool,
    standing: Standing,
    write: Callable[[], object],
    by: User,
    via: Door,
    alone: Mapping[str, object],
    person: User | None = None,
    subject: str = "",
    before: Any = None,
) -> PendingChange | None:
    """Make a change by `write`, or request it from another administrator if it loosens something and one has to confirm it.

    A loosening without another administrator is recorded with `alone`.
    """
    if loosens and needs_second(standing):
        return request_change(
            kind, value, by=by, via=via, person=person, subject=subject, before=before
        )
    write()
    if loosens:
        record_alone(kind, by=by, via=via, **alone)
    return None


def request_change(
    kind: Kind,
    value: Any,
    *,
    by: User,
    via: Door,
    person: User | None = None,
    subject: str = "",
    before: Any = None,
) -> PendingChange:
    """Request a change from another administrator, on record, and notify them; it replaces an earlier one of the same subject."""
    requested = {
        "value": value,
        "before": before,
        "requested_by": by,
        "requested_at": timezone.now(),
    }
    change, _new = PendingChange.objects.update_or_create(
        person=person, kind=kind, subject=subject, defaults=requested
    )
    record_step(change, "requested", by=by, via=via)
    tell_administrators(change)
    return change


def record_step(change: PendingChange, step: str, *, by: User, via: Door) -> None:
    """Record that a change was requested, confirmed or withdrawn; policy versions have events of their own."""
    if change.kind == Kind.POLICY:
        return
    requester = change.requested_by
    data: dict[str, object] = {"change": step, "of": change.kind}
    if change.person is not None:
        data |= {"user": change.person.get_username(), "user_id": change.person.pk}
    if change.subject:
        data["subject"] = change.subject
    for name in ("value", "before"):
        if (value := getattr(change, name)) is not None:
            data[name] = _recorded(value)
    if by.pk != requester.pk:
        data["requested_by"] = requester.get_username()
    event = "person.changed" if change.kind in OF_PEOPLE else "change.waiting"
    audit.record(event, SUBJECT, data=data, actor=by, via=via)


def record_alone(kind: Kind, *, by: User, via: Door, **about: object) -> None:
    """Record that one administrator has loosened something without a second one."""
    audit.record(
        "change.alone", SUBJECT, data={"of": kind.value, **about}, actor=by, via=via
    )


def _recorded(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {name: part for name, part in value.items() if name not in _UNRECORDED}
