"""`manage.py backup FILE`: a checked copy of the SQLite database, while servers use it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import CommandError
from django.db import connection

from approvals.management.refusing import RefusingCommand
from hitlsite.backups import BackupFailed, back_up


class Command(RefusingCommand):
    help = (
        "Copy the SQLite database to a new file, even while it is in use, and check the copy. For PostgreSQL, use pg_dump."
    )
    # Before an upgrade it is copied as it is; and what is copied is not written to by looking at it.
    requires_migrations_checks = False
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the name of the copy; the file must not exist")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if connection.vendor != "sqlite":
            raise CommandError("This command only copies SQLite databases. For PostgreSQL use: pg_dump --format=custom --file=FILE DATABASE_URL")
        database = Path(str(connection.settings_dict["NAME"]))
        if not database.exists():
            raise CommandError(f"No database exists at {database}. Run `manage.py migrate` first.")
        try:
            size = back_up(database, file)
        except BackupFailed as failed:
            raise CommandError(str(failed)) from failed
        self.stdout.write(f"{file}: {size:,} bytes, checked.")
