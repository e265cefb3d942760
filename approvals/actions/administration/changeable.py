"""Whom an administrator may change at all, under the lock that every change of rights takes."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from approvals.access.administering import require_changeable
from approvals.exceptions import NotFound

#: The name of the lock that everyone takes who may take rights away, so that two cannot remove each other.
LOCK = "administrators"


def changeable_person(person_id: int, by: User) -> User:
    """Return the locked person if this administrator may change them. NotFound, NotAllowed."""
    person = User.objects.select_for_update(no_key=True).filter(pk=person_id).first()
    if person is None:
        raise NotFound(_("Person not found."))
    require_changeable(person, by)
    return person
