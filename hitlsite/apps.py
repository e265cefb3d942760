"""The site itself: settings, static files, the server and its demo."""

from __future__ import annotations

from django.apps import AppConfig


class HitlsiteConfig(AppConfig):
    name = "hitlsite"
