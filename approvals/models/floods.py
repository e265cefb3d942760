"""Floods of similar requests, of which the person who runs the agent was told."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Flood(models.Model):
    """An agent with many similar requests waiting, and when the person who runs it was told last."""

    #: A plain number, so that the row outlives the user.
    requested_by_id = models.BigIntegerField()
    agent = models.CharField(max_length=100, blank=True)
    tool_name = models.CharField(max_length=100, blank=True)
    told_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["requested_by_id", "agent", "tool_name"], name="flood_once")
        ]

    def __str__(self) -> str:
        return f"{self.agent} {self.tool_name}"
