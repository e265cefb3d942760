"""`manage.py backup FILE`: copy the SQLite database while servers use it, and check the copy."""

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
        "Copy the SQLite database into a new file, while it is in use, and check the copy. For PostgreSQL use pg_dump."
    )
    # A backup before an upgrade copies unmigrated databases too, and checks must not write to the original.
    requires_migrations_checks = False
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the copy's name; it must not exist yet")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if connection.vendor != "sqlite":
            raise CommandError("This database is PostgreSQL's. Use: pg_dump --format=custom --file=FILE DATABASE_URL")
        database = Path(str(connection.settings_dict["NAME"]))
        if not database.exists():
            raise CommandError(f"There is no database at {database}. Run `manage.py migrate` first.")
        try:
            size = back_up(database, file)
        except BackupFailed as failed:
            raise CommandError(str(failed)) from failed
        self.stdout.write(f"{file}: {size:,} bytes, checked.")
