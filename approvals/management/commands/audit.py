"""`manage.py audit check`: find audit entries that were changed since they were recorded."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management import CommandError

from approvals.management.refusing import RefusingCommand
from approvals.record import integrity


class Command(RefusingCommand):
    help = (
        "Check the audit log: compare the columns of every entry with its body, and the body with its digest. Names the"
        " entries that differ, and ends with code 1 if there are any."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["check"], help="what to do")

    def handle(self, *args: Any, **options: Any) -> None:
        number = altered = 0
        for found in integrity.check_entries():
            number += 1
            if found is not None:
                altered += 1
                self.stdout.write(f"Changed since it was recorded: {found}")
        if altered:
            raise CommandError(f"{altered:,} of {number:,} audit entries were changed since they were recorded.")
        self.stdout.write(f"{number:,} audit entries say what was recorded.")
