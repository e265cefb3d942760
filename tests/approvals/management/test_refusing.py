"""A database of a commit before 0.1.0 is refused before Django looks at its migrations, and other databases are not."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from approvals.checks import check_first_version
from approvals.db.first_version import EARLIER
from approvals.management.refusing import refuse_earlier_commit
from hitlsite.health import readiness

pytestmark = pytest.mark.django_db
REFUSAL = (
    "The database {name} was created by a commit before 0.1.0, the first version, and cannot be migrated. Nothing was changed. "
    "Keep using that commit with it, or set DATABASE_URL to a new database and run `manage.py migrate`."
)


def test_a_database_of_an_earlier_commit_is_refused_with_what_to_do():
    assert (check_first_version(databases=["default"]), refuse_earlier_commit()) == ([], None)
    MigrationRecorder(connection).record_applied(*EARLIER)
    with pytest.raises(CommandError, match=r"was created by a commit before 0\.1\.0") as refused:
        call_command("migrate", verbosity=0)
    [error] = check_first_version(databases=["default"])
    words = str(refused.value)
    assert (error.msg, error.id) == (words, "approvals.E004")
    assert words.partition(" was created ")[2] == REFUSAL.partition(" was created ")[2]
    assert readiness.find_problems() == [
        "migrations: the database was created by a commit before 0.1.0; see `manage.py check --database default`"
    ]


def test_a_check_of_no_database_asks_none():
    assert check_first_version(databases=None) == []


def test_a_database_without_an_app_is_not_refused():
    for app in ("chats", "approvals"):
        MigrationRecorder.Migration.objects.filter(app=app).delete()
        refuse_earlier_commit()
