"""`manage.py backup FILE`: copy the SQLite database while servers use it, and check the copy."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import CommandError
from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from approvals.management.refusing import RefusingCommand
from approvals.text.numbers import grouped
from hitlsite.backups import BackupFailed, back_up


class Command(RefusingCommand):
    help = gettext_noop(
        "Copy the SQLite database to a new file, even while it is in use, and check the copy. For PostgreSQL, use pg_dump."
    )
    # A backup before an upgrade also copies unmigrated databases, and checks must not write to the original.
    requires_migrations_checks = False
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", type=Path, help=_("the name of the copy; the file must not exist")
        )

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if connection.vendor != "sqlite":
            raise CommandError(
                _(
                    "This command only copies SQLite databases. "
                    "For PostgreSQL, use: pg_dump --format=custom --file=FILE DATABASE_URL"
                )
            )
        database = Path(str(connection.settings_dict["NAME"]))
        if not database.exists():
            raise CommandError(
                _("No database exists at %(database)s. Run `manage.py migrate` first.")
                % {"database": database}
            )
        try:
            size = back_up(database, file)
        except BackupFailed as failed:
            raise CommandError(str(failed)) from failed
        self.stdout.write(
            _("%(file)s: %(size)s bytes, checked.")
            % {"file": file, "size": grouped(size)}
        )
