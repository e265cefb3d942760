"""The base of our commands: refuse invalid text, a missing or older database and unapplied migrations with one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management import CommandError
from django.core.management.base import BaseCommand, CommandParser
from django.db import Error
from django.db import connection as proxy
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils.translation import gettext as _

#: Untyped, because its module and connection parameters differ between backends.
connection: Any = proxy
#: Seconds to wait for a first connection, unless DATABASE_URL says otherwise.
CONNECT_TIMEOUT = 10
#: The last commit with the migrations that `0001_initial` of each app replaces.
LAST_WITH_REPLACED = "c9748bf8"


class RefusingCommand(BaseCommand):
    """A command that needs a migrated database, and otherwise reports the reason in one line."""

    requires_migrations_checks = True

    def execute(self, *args: Any, **options: Any) -> str | None:
        for name, value in options.items():
            if isinstance(value, str | Path) and not _is_text(str(value)):
                raise CommandError(_("%(name)s is not valid UTF-8: %(value)r.") % {"name": name, "value": str(value)})
        if self.requires_migrations_checks:
            # Before Django's own checks: since 6.1 they connect to SQLite, which creates a missing file.
            with _database_errors_as_command_errors():
                _connect()
                refuse_older_database()
        return super().execute(*args, **options)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Translate the description of the command, which is only marked in its class."""
        self.help = _(self.help)
        return super().create_parser(prog_name, subcommand, **kwargs)

    def check_migrations(self) -> None:
        """Refuse unapplied migrations; Django's own check only prints a notice."""
        with _database_errors_as_command_errors():
            # Each by itself: the plan of an executor leaves out what is missing before a migration that was applied.
            loader = MigrationLoader(connection)
        missing = sorted({app for app, _name in loader.graph.nodes.keys() - loader.applied_migrations.keys()})
        if missing:
            raise CommandError(
                _("The database %(database)s has unapplied migrations in %(apps)s. Run `manage.py migrate`.")
                % {"database": _database_name(), "apps": ", ".join(missing)}
            )


def refuse_older_database() -> None:
    """Refuse a database that ran some, but not all, of the migrations that a first migration replaces.

    The files of the others are gone, and Django would leave out the app without a word, or fail with a traceback.
    """
    applied = MigrationRecorder(connection).applied_migrations()
    loader = MigrationLoader(None)
    lost = {
        app
        for migration in loader.replacements.values()
        if not applied.keys().isdisjoint(migration.replaces)
        for app, _name in set(migration.replaces) - applied.keys() - loader.disk_migrations.keys()
    }
    if lost:
        raise CommandError(
            _(
                "The database %(database)s is too old for this version, which no longer contains the migrations of "
                "%(apps)s that it lacks. Nothing was changed. Run `manage.py migrate` of commit %(commit)s first, and "
                "then that of this version."
            )
            % {"database": _database_name(), "apps": ", ".join(sorted(lost)), "commit": LAST_WITH_REPLACED}
        )


@contextmanager
def _database_errors_as_command_errors() -> Iterator[None]:
    """Turn database errors into a CommandError of one line."""
    try:
        yield
    except (Error, connection.Database.Error) as error:
        message = " ".join(str(error).split()) or type(error).__name__
        raise CommandError(
            _("Cannot use the database %(database)s: %(message)s") % {"database": _database_name(), "message": message}
        ) from error


def _connect() -> None:
    if connection.vendor == "postgresql":
        # Without the pool, whose error does not include the reason.
        known = connection.get_connection_params()
        connection.Database.connect(**{"connect_timeout": CONNECT_TIMEOUT} | known).close()
    elif not connection.is_in_memory_db() and not os.path.exists(connection.settings_dict["NAME"]):
        # SQLite would create an empty file.
        raise CommandError(
            _("The database %(database)s does not exist. Check DATABASE_URL, or run `manage.py migrate`.")
            % {"database": _database_name()}
        )
    connection.ensure_connection()


def _database_name() -> str:
    """Return the name of the database, without its password."""
    known = connection.settings_dict
    if connection.vendor == "sqlite":
        return str(known["NAME"])
    place = f"{known['HOST'] or 'the local socket'}{':' if known['PORT'] else ''}{known['PORT']}"
    return f"{known['NAME']!r} at {place}"


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
