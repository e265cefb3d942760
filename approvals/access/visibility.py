"""Who sees the same rows, so that pages of several people can share what was read for one of them."""

from __future__ import annotations

from collections.abc import Collection, Hashable

from approvals.access.permissions import Person, decides_everything, sees_everything


def visibility_key(user: Person) -> int | None:
    """Return None for everyone who sees all requests, else the person's id: equal keys see equal rows."""
    return None if sees_everything(user) else user.pk


def viewer_key(user: Person, named: Collection[int | None]) -> Hashable:
    """Return a key that is equal for people to whom requests look the same.

    These are all who see every request, have the same rights, and are not among `named`, the people whom the requests name.
    """
    if user.pk in named or not sees_everything(user):
        return "person", user.pk
    return "anyone", decides_everything(user)
