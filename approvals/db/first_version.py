"""Recognize a database of a commit before 0.1.0, the first version, which no version migrates."""

from __future__ import annotations

from typing import Any

from django.db.migrations.recorder import MigrationRecorder
from django.utils.translation import gettext as _

#: The first migration that each of those commits records. The present first migration has another name.
EARLIER = ("approvals", "0001_desk")


def problem_of_earlier_commit(connection: Any) -> str:
    """Return what to do with a database of a commit before 0.1.0; an empty text for any other database."""
    if EARLIER not in MigrationRecorder(connection).applied_migrations():
        return ""
    return _(
        "The database %(database)s was created by a commit before 0.1.0, the first version, and cannot be "
        "migrated. Nothing was changed. Keep using that commit with it, or set DATABASE_URL to a new database"
        " and run `manage.py migrate`."
    ) % {"database": name_of(connection)}


def name_of(connection: Any) -> str:
    """Return the name of the database, without its password."""
    known = connection.settings_dict
    if connection.vendor == "sqlite":
        return str(known["NAME"])
    place = f"{known['HOST'] or 'the local socket'}{':' if known['PORT'] else ''}{known['PORT']}"
    return f"{known['NAME']!r} at {place}"
