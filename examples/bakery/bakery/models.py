"""Orders, and the events that were handled."""

from __future__ import annotations

from django.db import models


class Order(models.Model):
    """Flour ordered from the mill; `tool_call_id` makes ordering idempotent."""

    tool_call_id = models.CharField(max_length=200, unique=True)
    kilograms = models.PositiveIntegerField()
    price = models.DecimalField(max_digits=8, decimal_places=2)

    def __str__(self) -> str:
        return f"{self.kilograms} kg"


class Heard(models.Model):
    """An event that was handled; its unique id prevents handling it twice."""

    event_id = models.UUIDField(unique=True)
    name = models.CharField(max_length=40)

    def __str__(self) -> str:
        return self.name
