"""A small app of one's own beside Pausepoint."""

from django.apps import AppConfig


class BakeryConfig(AppConfig):
    name = "bakery"
    default_auto_field = "django.db.models.BigAutoField"
