"""`manage.py rotatesecrets`: encrypt stored secrets with the current SECRET_KEY."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from approvals.actions.upkeep.rotating import rotate_secrets
from approvals.management.refusing import RefusingCommand


class Command(RefusingCommand):
    help = gettext_noop(
        "Encrypt all stored secrets with SECRET_KEY, so that those of SECRET_KEY_FALLBACKS are no longer needed for them. It "
        "can be repeated at any time."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if unreadable := rotate_secrets():
            raise CommandError(
                _(
                    "%(count)d rows have secrets that no key can read. Add the key that encrypted them to "
                    "SECRET_KEY_FALLBACKS, and run this again."
                )
                % {"count": unreadable}
            )
        self.stdout.write(_("SECRET_KEY can read all stored secrets."))
