"""A database that lacks some of the replaced migrations is refused before Django looks at it."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from approvals.management.refusing import refuse_older_database

pytestmark = pytest.mark.django_db
FIRST = [("approvals", "0001_initial"), ("chats", "0001_initial")]


def test_a_database_that_lacks_one_replaced_migration_is_refused():
    replacements = MigrationLoader(None).replacements
    assert sorted(replacements) == FIRST
    for app, name in [target for first in FIRST for target in replacements[first].replaces]:
        MigrationRecorder(connection).record_unapplied(app, name)
        with pytest.raises(CommandError, match=f"no longer contains the migrations of {app} that it lacks"):
            call_command("migrate", verbosity=0)
        MigrationRecorder(connection).record_applied(app, name)
    refuse_older_database()


def test_a_database_without_an_app_is_not_refused():
    for app in ("chats", "approvals"):
        MigrationRecorder.Migration.objects.filter(app=app).delete()
        refuse_older_database()
