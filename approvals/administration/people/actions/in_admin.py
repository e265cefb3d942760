"""Record changes that Django's admin writes to people, teams and secrets of keys."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db.models import Model

from approvals.actions.logins import SUBJECT
from approvals.administration.account_mails import AccountMailReason, tell_person
from approvals.db.canonical_json import clean_text
from approvals.record import audit
from approvals.states import Door


def tell_of_new_address(person: User, before: str, *, by: User) -> None:
    """Mail a person whose address was changed in the admin, also at the old address, since someone else may read the new one."""
    tell_person(
        person, AccountMailReason.EMAIL, by=by, detail=person.email, also_to=before
    )


def record_admin_change(
    row: Model, change: str, fields: Sequence[str], *, by: User
) -> None:
    """Record an addition, change or removal in the admin, without values, which may be secrets; notify the person."""
    data = {
        "change": change,
        "model": row._meta.label_lower,
        "name": clean_text(str(row))[:200],
        # The name sorts it last: the audit page shows the first values by name.
        "row_id": row.pk,
        "fields": list(fields),
    }
    audit.record("admin.changed", SUBJECT, data=data, actor=by, via=Door.ADMIN)
    if isinstance(row, User) and fields:
        tell_person(row, AccountMailReason.ADMIN, by=by, detail=", ".join(fields))
