"""The site itself: settings, static files, the server and its demo."""

from __future__ import annotations

from django.apps import AppConfig
from django.core import checks


class HitlsiteConfig(AppConfig):
    name = "hitlsite"

    def ready(self) -> None:
        from hitlsite.checks import (
            check_libraries,
            check_processes,
            check_set_up,
            load_libraries,
        )

        checks.register(check_set_up)
        checks.register(check_libraries)
        checks.register(load_libraries, deploy=True)
        checks.register(check_processes, checks.Tags.database)
