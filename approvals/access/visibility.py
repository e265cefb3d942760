"""Group people who see the same rows, so that their pages can share the rows read for one of them."""

from __future__ import annotations

from collections.abc import Collection, Hashable

from approvals.access.permissions import decides_everything, sees_everything
from approvals.access.standing import Standing


def visibility_key(viewer: Standing) -> int | None:
    """Return None for people who see all requests, else the person's id: equal keys see equal rows."""
    return None if sees_everything(viewer) else viewer.pk


def viewer_key(viewer: Standing, named: Collection[int | None]) -> Hashable:
    """Return a key that is equal for people who see a request in the same way.

    They see every request, have the same rights, and are not in `named`, the people named by the request.
    """
    if viewer.pk in named or not sees_everything(viewer):
        return "person", viewer.pk
    return "anyone", decides_everything(viewer)
