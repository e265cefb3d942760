"""`manage.py audit check`: find audit entries that were changed since they were recorded."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management import CommandError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from approvals.management.refusing import RefusingCommand
from approvals.record import integrity
from approvals.text.numbers import grouped


class Command(RefusingCommand):
    help = gettext_noop(
        "Check the audit log: compare the columns of every entry with its body, and the body with its digest."
        " Lists the entries that differ, and exits with code 1 if there are any."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["check"], help=_("what to do"))

    def handle(self, *args: Any, **options: Any) -> None:
        total = altered = 0
        for altered_entry in integrity.check_entries():
            total += 1
            if altered_entry is not None:
                altered += 1
                self.stdout.write(
                    _("Changed since it was recorded: %(entry)s")
                    % {"entry": altered_entry}
                )
        if altered:
            raise CommandError(
                _(
                    "%(altered)s of %(number)s audit entries were changed since they were recorded."
                )
                % {"altered": grouped(altered), "number": grouped(total)}
            )
        self.stdout.write(
            _("All %(number)s audit entries are unchanged.")
            % {"number": grouped(total)}
        )
