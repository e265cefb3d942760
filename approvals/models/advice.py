"""Advice of programs on a request, append-only."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from approvals.models.keys import MAX_ACTOR_NAME
from approvals.states import Hint, Priority

MAX_TEXT = 5_000
#: How much advice one request can have.
MAX_ADVICE = 10


class Advice(models.Model):
    """What a program thinks of a request. It decides nothing; it can only have raised the priority. Never changed."""

    request = models.ForeignKey(
        "approvals.ApprovalRequest",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="advice",
        editable=False,
    )
    #: Plain numbers, so that the deletion of a user or key does not reach them.
    by_id = models.BigIntegerField()
    by_name = models.CharField(max_length=MAX_ACTOR_NAME)
    key_id = models.BigIntegerField()
    hint = models.CharField(max_length=11, choices=Hint)
    text = models.TextField()
    #: The priority that it asked for, and the one that the request had before it was raised; empty if there is none.
    priority = models.CharField(max_length=8, choices=Priority, blank=True)
    raised_from = models.CharField(max_length=8, choices=Priority, blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "advice"
        indexes: ClassVar = [models.Index(fields=["request", "id"], name="advice_on_request")]

    def __str__(self) -> str:
        return f"{self.by_name} on {self.request_id}"
