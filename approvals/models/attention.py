"""Aids to people's attention: advice of programs, and notices about floods of requests."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from approvals.db.fields import CanonicalNameField
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.states import Hint, Priority

#: Maximum length of advice.
MAX_TEXT = 5_000
#: Maximum pieces of advice per request, and maximum extra votes: per piece, and in total.
MAX_ADVICE = 10
MAX_MORE_VOTES = 3
MAX_ALL_MORE_VOTES = 5


class Advice(models.Model):
    """A program's advice on a request. It decides nothing, and is never changed.

    It can only raise the priority and the number of people who have to approve.
    """

    request = models.ForeignKey(
        "approvals.ApprovalRequest",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="advice",
        editable=False,
    )
    #: Plain numbers, so that they survive the deletion of the user or key.
    by_id = models.BigIntegerField()
    by_name = models.CharField(max_length=MAX_ACTOR_NAME)
    key_id = models.BigIntegerField()
    hint = models.CharField(max_length=11, choices=Hint)
    text = models.TextField()
    #: The advised priority, and the previous one if it was raised; empty if there is none.
    priority = models.CharField(max_length=8, choices=Priority, blank=True)
    raised_from = models.CharField(max_length=8, choices=Priority, blank=True)
    #: The number of additional approvals; null if it asked for none.
    more_votes = models.PositiveSmallIntegerField(null=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "advice"
        indexes: ClassVar = [
            models.Index(fields=["request", "id"], name="advice_on_request")
        ]

    def __str__(self) -> str:
        return f"{self.by_name} on {self.request_id}"


class Flood(models.Model):
    """An agent with many similar waiting requests, and the last notice about it to the person who runs it."""

    #: A plain number, so that the row outlives the user.
    requested_by_id = models.BigIntegerField()
    agent = models.CharField(max_length=100, blank=True)
    tool_name = CanonicalNameField(max_length=100, blank=True)
    told_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["requested_by_id", "agent", "tool_name"], name="flood_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.agent} {self.tool_name}"
