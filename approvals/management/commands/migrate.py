"""`manage.py migrate`: Django's command, which first refuses a database that is too old for this version."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate

from approvals.management.refusing import refuse_older_database


class Command(migrate.Command):
    def execute(self, *args: Any, **options: Any) -> str | None:
        refuse_older_database()
        return super().execute(*args, **options)
