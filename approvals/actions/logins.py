"""Record log-ins, failed log-ins and new passwords."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from approvals.models import Invitation
from approvals.record import audit
from approvals.states import Door

SUBJECT = audit.Subject(scope="desk")


def record_login(user: User, *, address: str) -> None:
    audit.record("login.succeeded", SUBJECT, data={"address": address}, actor=user, via=Door.DASHBOARD)


def record_failed_login(name: str, *, address: str) -> str:
    """Return the name as it is recorded: empty if no user has it, since it may be a password in the wrong field."""
    known = name if User.objects.filter(username=name).exists() else ""
    data = {"name": known, "address": address}
    audit.record("login.failed", SUBJECT, data=data, actor=None, via=Door.DASHBOARD)
    return known


def store_password(user: User, *, reset: bool, address: str) -> None:
    """Store the password that was set on `user`; `reset` if a link was used, which may be that of an invitation."""
    with transaction.atomic():
        invited, _rows = Invitation.objects.filter(person=user).delete()
        event = "invitation.accepted" if invited else "password.reset" if reset else "password.changed"
        user.save(update_fields=["password"])
        audit.record(event, SUBJECT, data={"address": address}, actor=user, via=Door.DASHBOARD)
