"""`manage.py webhooksecret`: a new secret for the webhooks of a key's requests, printed once."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management import CommandError

from approvals.actions import create_signing_secret
from approvals.management.refusing import RefusingCommand
from approvals.models.keys import ApiKey


class Command(RefusingCommand):
    help = (
        "Make the secret that signs what the callback addresses of a key's requests are told, and print it, alone, on"
        " standard output. It is shown this once; the one before it stays good for a day."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--key", required=True, help="the key's prefix: what stands between the first two _ of it")

    def handle(self, *args: Any, key: str, **options: Any) -> None:
        found = ApiKey.objects.filter(prefix=key, revoked_at=None).first()
        if found is None:
            raise CommandError(f"There is no live key with the prefix {key!r}. The admin lists them.")
        self.stdout.write(create_signing_secret(found))
