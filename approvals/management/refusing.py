"""What every command of ours refuses before it begins: no text, no database, or one that is not migrated."""

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
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _

#: Typed as what all databases have; its module and how it is reached are each backend's own.
connection: Any = proxy
#: Seconds for which a server may leave a first connection unanswered, unless DATABASE_URL says another number.
PATIENCE = 10


class RefusingCommand(BaseCommand):
    """A command that works on the migrated database, or says in one line why it does not."""

    requires_migrations_checks = True

    def execute(self, *args: Any, **options: Any) -> str | None:
        for name, value in options.items():
            if isinstance(value, str | Path) and not _is_text(str(value)):
                raise CommandError(_("%(name)s is not valid UTF-8: %(value)r.") % {"name": name, "value": str(value)})
        if self.requires_migrations_checks:
            # Before Django's own checks: since 6.1 they ask SQLite what it can, which makes the file that is not there.
            with _refused():
                _connect()
        return super().execute(*args, **options)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Translate the description of the command, which is only marked in its class."""
        self.help = _(self.help)
        return super().create_parser(prog_name, subcommand, **kwargs)

    def check_migrations(self) -> None:
        """Django's own prints a notice, and lets the command run into the first table that is missing."""
        with _refused():
            executor = MigrationExecutor(connection)
            plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        missing = sorted({migration.app_label for migration, _ in plan})
        if missing:
            raise CommandError(
                _("The database %(database)s has unapplied migrations in %(apps)s. Run `manage.py migrate`.")
                % {"database": _named(), "apps": ", ".join(missing)}
            )


@contextmanager
def _refused() -> Iterator[None]:
    """What the database refuses, in one line."""
    try:
        yield
    except (Error, connection.Database.Error) as error:
        words = " ".join(str(error).split()) or type(error).__name__
        raise CommandError(
            _("Cannot use the database %(database)s: %(words)s") % {"database": _named(), "words": words}
        ) from error


def _connect() -> None:
    if connection.vendor == "postgresql":
        # Without what keeps connections: that would say only that there is none, and not why.
        known = connection.get_connection_params()
        connection.Database.connect(**{"connect_timeout": PATIENCE} | known).close()
    elif not connection.is_in_memory_db() and not os.path.exists(connection.settings_dict["NAME"]):
        # SQLite would make an empty one.
        raise CommandError(
            _("The database %(database)s does not exist. Check DATABASE_URL, or run `manage.py migrate`.")
            % {"database": _named()}
        )
    connection.ensure_connection()


def _named() -> str:
    """Which database, and never its password."""
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
