"""Who sees the same rows, so that pages of several people can share what was read for one of them."""

from __future__ import annotations

from collections.abc import Collection, Hashable

from approvals.access.permissions import decides_everything, sees_everything
from approvals.access.standing import Standing


def visibility_key(viewer: Standing) -> int | None:
    """Return None for everyone who sees all requests, else the person's id: equal keys see equal rows."""
    return None if sees_everything(viewer) else viewer.pk


def viewer_key(viewer: Standing, named: Collection[int | None]) -> Hashable:
    """Return a key that is equal for people to whom requests look the same.

    These are all who see every request, have the same rights, and are not among `named`, the people whom the requests name.
    """
    if viewer.pk in named or not sees_everything(viewer):
        return "person", viewer.pk
    return "anyone", decides_everything(viewer)
