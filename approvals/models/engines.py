"""Durable engines whose workflows wait for decisions, as administrators have set them up."""

from __future__ import annotations

from django.db import models

from approvals.states import EngineKind


class EngineConnection(models.Model):
    """An engine that requests name to get their decision. `secret` is its credential, encrypted; empty for none."""

    name = models.CharField(max_length=60, unique=True)
    kind = models.CharField(max_length=12, choices=EngineKind)
    url = models.CharField(max_length=500)
    #: The address within the engine: Temporal's namespace and update, Restate's service and handler; empty for others.
    route = models.CharField(max_length=201, blank=True)
    secret = models.TextField(blank=True)
    #: Whether it may be in a private network and use plain HTTP.
    private = models.BooleanField(default=False)
    disabled_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name
