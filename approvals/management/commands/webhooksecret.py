"""`manage.py webhooksecret`: create a secret for the webhooks of a key's requests, printed once."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management import CommandError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from approvals.actions import create_signing_secret
from approvals.management.refusing import RefusingCommand
from approvals.models.keys import ApiKey


class Command(RefusingCommand):
    help = gettext_noop(
        "Create the secret that signs the callbacks of a key's requests, and print it to standard output. It is shown "
        "only once. The previous secret stays valid for a day."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--key",
            required=True,
            help=_("the key's prefix: the part between its first two underscores"),
        )

    def handle(self, *args: Any, key: str, **options: Any) -> None:
        api_key = ApiKey.objects.filter(prefix=key, revoked_at=None).first()
        if api_key is None:
            raise CommandError(
                _("No active key has the prefix %(key)r. The admin lists all keys.")
                % {"key": key}
            )
        self.stdout.write(create_signing_secret(api_key))
