"""`manage.py createkey`: a new API key, printed once and stored as a hash."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management import CommandError

from approvals.access.keys import DEFAULT_SCOPES, SCOPES
from approvals.actions.keys import create_key
from approvals.management.refusing import RefusingCommand
from approvals.models.keys import MAX_KEY_NAME


class Command(RefusingCommand):
    help = "Make an API key for a user and print it, alone, on standard output. It is shown this once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", required=True, help="for whom the key acts")
        parser.add_argument("--name", required=True, help="what the key is for, such as “billing agent”")
        parser.add_argument("--scopes", default=",".join(DEFAULT_SCOPES), help=f"some of {','.join(SCOPES)}")

    def handle(self, *args: Any, user: str, name: str, scopes: str, **options: Any) -> None:
        person = User.objects.filter(username=user).first()
        if person is None or not person.is_active:
            raise CommandError(f"There is no active user named {user!r}.")
        if not 1 <= len(name.strip()) <= MAX_KEY_NAME:
            raise CommandError(f"--name takes 1 to {MAX_KEY_NAME} characters: say what the key is for.")
        wanted = tuple(dict.fromkeys(scope.strip() for scope in scopes.split(",") if scope.strip()))
        unknown = [scope for scope in wanted if scope not in SCOPES]
        if unknown or not wanted:
            raise CommandError(f"--scopes takes some of {', '.join(SCOPES)}; not {', '.join(unknown) or 'nothing'}.")
        _, text = create_key(person, name=name.strip(), scopes=wanted)
        self.stdout.write(text)
