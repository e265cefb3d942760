"""Link, add and update people as the OpenID provider confirms them, on record."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import User
from django.db import transaction

from approvals.actions.logins import SUBJECT
from approvals.actions.policy.standing_changes import standing_changed
from approvals.administration.account_mails import AccountMailReason, tell_old_address
from approvals.administration.people.actions.people import write_email
from approvals.administration.people.actions.roles import give_roles
from approvals.models import Invitation
from approvals.record import audit
from approvals.states import Door


def link_to_provider(person: User, *, provider: str, address: str) -> None:
    """Record that a person's account now opens with the provider, which accepts their invitation."""
    with transaction.atomic():
        invited, _rows = Invitation.objects.filter(person=person).delete()
        data = {"address": address, "provider": provider}
        if invited:
            audit.record(
                "invitation.accepted",
                SUBJECT,
                data=data,
                actor=person,
                via=Door.DASHBOARD,
            )
        else:
            _record("person.changed", person, {"change": "linked", **data})


def add_from_provider(*, username: str, email: str, role: str, provider: str) -> User:
    """Create a person without a password who logs in at the provider."""
    with transaction.atomic():
        person = User(username=username, email=email)
        person.set_unusable_password()
        person.save()
        give_roles(person, [role])
        data = {"email": email, "roles": [role], "provider": provider}
        _record("person.created", person, data)
        standing_changed({})
    return person


def follow_address(person: User, email: str, *, provider: str) -> None:
    """Store the address that the provider confirms, and tell the old one."""
    before = person.email
    if email == before:
        return
    with transaction.atomic():
        write_email(person, email)
        changed = {"before": {"email": before}, "after": {"email": email}}
        _record("person.changed", person, {**changed, "provider": provider})
        tell_old_address(
            person, AccountMailReason.PROVIDER_EMAIL, old=before, new=email
        )


def _record(event: str, person: User, data: Mapping[str, object]) -> None:
    about = {"user": person.get_username(), "user_id": person.pk}
    audit.record(
        event, SUBJECT, data=about | dict(data), actor=None, via=Door.DASHBOARD
    )
