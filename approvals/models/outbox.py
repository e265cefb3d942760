"""Events, stored until they are delivered to each of their targets."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from approvals.db.fields import ExactJSONField
from approvals.states import Channel

User = settings.AUTH_USER_MODEL


class OutboxEvent(models.Model):
    """An event for one target: written in the transaction that it reports, and then delivered at least once.

    Rows of one stream (a workflow, a chat's run) go to a target in the order of their ids. `sequence` numbers the events
    of a stream; `lane` is the host that several targets share.
    """

    event_id = models.UUIDField()
    name = models.CharField(max_length=40)
    stream = models.CharField(max_length=300)
    sequence = models.PositiveBigIntegerField(default=0)
    channel = models.CharField(max_length=8, choices=Channel, default=Channel.HANDLER)
    target = models.CharField(max_length=600)
    lane = models.CharField(max_length=300, blank=True)
    payload = ExactJSONField()
    created_at = models.DateTimeField(default=timezone.now)
    delivered_at = models.DateTimeField(null=True)
    #: When it was given up, after too many attempts. The admin can resend it.
    dead_at = models.DateTimeField(null=True)
    #: When someone resent it; it is given up a fixed time after that.
    sent_again_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(default=timezone.now)
    last_error = models.TextField(blank=True)
    #: For an engine: whether an attempt may have arrived whose outcome is not known. Null means no.
    uncertain = models.BooleanField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["event_id", "target"], name="outbox_event_target"
            )
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["target", "stream", "id"],
                name="outbox_open",
                condition=Q(delivered_at__isnull=True, dead_at__isnull=True),
            ),
            models.Index(
                fields=["channel", "next_attempt_at"],
                name="outbox_due",
                condition=Q(delivered_at__isnull=True, dead_at__isnull=True),
            ),
            models.Index(
                fields=["target", "-id"],
                name="outbox_deliveries",
                condition=Q(channel="webhook"),
            ),
            models.Index(
                fields=["target"],
                name="outbox_engine_request",
                condition=Q(channel="engine"),
            ),
            models.Index(
                fields=["lane", "-id"],
                name="outbox_engine_deliveries",
                condition=Q(channel="engine"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} to {self.target}"
