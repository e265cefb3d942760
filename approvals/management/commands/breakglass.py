"""`manage.py breakglass`: name the account that logs in with a password while only single sign-on is allowed."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management import CommandError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from approvals.access.administrators import break_glass_account
from approvals.administration.sign_in.actions import set_break_glass
from approvals.exceptions import Conflict
from approvals.management.refusing import RefusingCommand


class Command(RefusingCommand):
    help = gettext_noop(
        "Name the break-glass account, which logs in with a password while OIDC_ONLY is set, and print its name."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--user", help=_("the user to name, instead of the present one")
        )

    def handle(self, *args: Any, user: str | None, **options: Any) -> None:
        if user is not None:
            person = User.objects.filter(username=user).first()
            if person is None:
                raise CommandError(_("No user is named %(user)r.") % {"user": user})
            try:
                set_break_glass(person)
            except Conflict as refusal:
                raise CommandError(str(refusal)) from None
        account = break_glass_account()
        self.stdout.write(_("none") if account is None else account.get_username())
