"""`manage.py createkey`: create an API key, which is printed once and stored as a hash."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management import CommandError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from approvals.access.callers import DEFAULT_SCOPES, SCIM, SCOPES
from approvals.access.standing import standing_of
from approvals.administration.keys.actions import create_key, require_scim_alone
from approvals.exceptions import NotAllowed
from approvals.management.refusing import RefusingCommand
from approvals.models.keys import MAX_KEY_NAME

_SCOPES = (*SCOPES, SCIM)


class Command(RefusingCommand):
    help = gettext_noop(
        "Create an API key for a user and print it to standard output. It is only shown once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--user", required=True, help=_("the user the key acts for")
        )
        parser.add_argument(
            "--name",
            required=True,
            help=_("what the key is for, such as “billing agent”"),
        )
        parser.add_argument(
            "--scopes",
            default=",".join(DEFAULT_SCOPES),
            help=_("some of %(names)s") % {"names": ",".join(_SCOPES)},
        )

    def handle(
        self, *args: Any, user: str, name: str, scopes: str, **options: Any
    ) -> None:
        person = User.objects.filter(username=user).first()
        if person is None or not person.is_active:
            raise CommandError(_("No active user is named %(user)r.") % {"user": user})
        if not 1 <= len(name.strip()) <= MAX_KEY_NAME:
            raise CommandError(
                _(
                    "--name must have 1 to %(limit)s characters. Say what the key is for."
                )
                % {"limit": MAX_KEY_NAME}
            )
        wanted = tuple(
            dict.fromkeys(scope.strip() for scope in scopes.split(",") if scope.strip())
        )
        unknown = [scope for scope in wanted if scope not in _SCOPES]
        if unknown or not wanted:
            raise CommandError(
                _("--scopes takes some of %(names)s; not %(unknown)s.")
                % {
                    "names": ", ".join(_SCOPES),
                    "unknown": ", ".join(unknown) or _("nothing"),
                }
            )
        try:
            require_scim_alone(wanted, standing_of(person))
        except NotAllowed as error:
            raise CommandError(str(error)) from None
        _key, text = create_key(person, name=name.strip(), scopes=wanted)
        self.stdout.write(text)
