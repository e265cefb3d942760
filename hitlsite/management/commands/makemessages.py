"""`manage.py makemessages`: Django's, extended to extract the names of models and fields, which are not marked."""

from __future__ import annotations

from tempfile import NamedTemporaryFile
from typing import Any

from django.apps import apps
from django.core.management.commands import makemessages

from approvals.admin.labels import labels_of


class Command(makemessages.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        labels = {
            label
            for app in ("approvals", "chats")
            for label in labels_of(apps.get_app_config(app))
        }
        with NamedTemporaryFile("w", dir=".", prefix="labels-", suffix=".py") as file:
            file.writelines(f"_({label!r})\n" for label in sorted(labels))
            file.flush()
            super().handle(*args, **options)
