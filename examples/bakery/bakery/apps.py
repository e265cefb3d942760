"""A small app of your own that runs inside Pausepoint."""

from django.apps import AppConfig


class BakeryConfig(AppConfig):
    name = "bakery"
    default_auto_field = "django.db.models.BigAutoField"
