"""Base class of our commands: report invalid text and a missing, unmigrated or too old database in one line."""

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
from django.utils.translation import gettext as _

from approvals.db.first_version import name_of, problem_of_earlier_commit

#: Untyped, because its module and connection parameters differ between backends.
connection: Any = proxy
#: Seconds to wait for a first connection, unless DATABASE_URL says otherwise.
CONNECT_TIMEOUT = 10


class RefusingCommand(BaseCommand):
    """A command that requires a migrated database, and otherwise reports the problem in one line."""

    requires_migrations_checks = True

    def execute(self, *args: Any, **options: Any) -> str | None:
        for name, value in options.items():
            if isinstance(value, str | Path) and not _is_text(str(value)):
                raise CommandError(
                    _("%(name)s is not valid UTF-8: %(value)r.")
                    % {"name": name, "value": str(value)}
                )
        if self.requires_migrations_checks:
            # Before Django's own checks: since 6.1 they connect to SQLite, which creates a missing file.
            with _database_errors_as_command_errors():
                _connect()
                refuse_earlier_commit()
        return super().execute(*args, **options)

    def create_parser(
        self, prog_name: str, subcommand: str, **kwargs: Any
    ) -> CommandParser:
        """Translate the description of the command, which is only marked in its class."""
        self.help = _(self.help)
        return super().create_parser(prog_name, subcommand, **kwargs)

    def check_migrations(self) -> None:
        """Refuse unapplied migrations; Django's own check only prints a notice."""
        with _database_errors_as_command_errors():
            # Compare sets: an executor's plan omits unapplied migrations that precede an applied one.
            loader = MigrationLoader(connection)
        missing = sorted(
            {
                app
                for app, _name in loader.graph.nodes.keys()
                - loader.applied_migrations.keys()
            }
        )
        if missing:
            raise CommandError(
                _(
                    "The database %(database)s has unapplied migrations in %(apps)s. Run `manage.py migrate`."
                )
                % {"database": name_of(connection), "apps": ", ".join(missing)}
            )


def refuse_earlier_commit() -> None:
    """Refuse a database of a commit before 0.1.0."""
    problem = problem_of_earlier_commit(connection)
    if problem:
        raise CommandError(problem)


@contextmanager
def _database_errors_as_command_errors() -> Iterator[None]:
    """Turn database errors into a CommandError of one line."""
    try:
        yield
    except (Error, connection.Database.Error) as error:
        message = " ".join(str(error).split()) or type(error).__name__
        raise CommandError(
            _("Cannot use the database %(database)s: %(message)s")
            % {"database": name_of(connection), "message": message}
        ) from error


def _connect() -> None:
    if connection.vendor == "postgresql":
        # Without the pool, whose error does not include the reason.
        known = connection.get_connection_params()
        connection.Database.connect(
            **{"connect_timeout": CONNECT_TIMEOUT} | known
        ).close()
    elif not connection.is_in_memory_db() and not os.path.exists(
        connection.settings_dict["NAME"]
    ):
        # SQLite would create an empty file.
        raise CommandError(
            _(
                "The database %(database)s does not exist. Check DATABASE_URL, or run `manage.py migrate`."
            )
            % {"database": name_of(connection)}
        )
    connection.ensure_connection()


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
