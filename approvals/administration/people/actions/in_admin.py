"""Changes of people, teams and the secrets of keys in Django's admin, which writes them itself."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db.models import Model

from approvals.actions.logins import SUBJECT
from approvals.administration.account_mails import Change, tell_person
from approvals.db.canonical_json import clean_text
from approvals.record import audit
from approvals.states import Door


def tell_of_new_address(person: User, before: str, *, by: User) -> None:
    """Tell a person whose address was changed there, at the address of before too: whoever reads the new one may be another."""
    tell_person(person, Change.EMAIL, by=by, detail=person.email, also_to=before)


def record_admin_change(row: Model, change: str, fields: Sequence[str], *, by: User) -> None:
    """Put on record who added, changed or removed a row there, without its values: they may be secrets; tell the person."""
    data = {
        "change": change,
        "model": row._meta.label_lower,
        "name": clean_text(str(row))[:200],
        # Its name puts it behind the others: the audit page shows the first values by their names.
        "row_id": row.pk,
        "fields": list(fields),
    }
    audit.record("admin.changed", SUBJECT, data=data, actor=by, via=Door.ADMIN)
    if isinstance(row, User) and fields:
        tell_person(row, Change.ADMIN, by=by, detail=", ".join(fields))
