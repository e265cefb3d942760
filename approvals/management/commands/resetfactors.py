"""`manage.py resetfactors`: remove the second factors of someone who has lost them, for the last administrator."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management import CommandError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from approvals.administration.people.actions import reset_factors_on_server
from approvals.exceptions import Refusal
from approvals.management.refusing import RefusingCommand


class Command(RefusingCommand):
    help = gettext_noop(
        "Remove all second factors of a user who has lost them, on record; end their sessions, and tell them by email."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", required=True, help=_("the user"))

    def handle(self, *args: Any, user: str, **options: Any) -> None:
        try:
            reset_factors_on_server(user)
        except Refusal as refusal:
            raise CommandError(str(refusal)) from None
        done = _(
            "The second factors of %(user)s are removed. All their sessions have ended."
        )
        self.stdout.write(done % {"user": user})
