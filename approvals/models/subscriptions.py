"""Who is notified of events: webhooks with their secrets, and rules for people. Edited in the admin."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone

from approvals.runtime.addresses import Refused, destination
from approvals.runtime.json_field import ExactJSONField
from approvals.states import Priority, Route

User = settings.AUTH_USER_MODEL


def check_address(url: str) -> None:
    """ValidationError unless a webhook may be sent there."""
    try:
        destination(url, allow_private=settings.HITL_WEBHOOK_ALLOW_PRIVATE)
    except Refused as error:
        raise ValidationError(f"The address {error}.") from error


class WebhookEndpoint(models.Model):
    """An address that gets the events of every workflow, signed with its own secrets."""

    name = models.CharField(max_length=100, help_text="What listens there, such as “billing”.")
    url = models.CharField("address", max_length=500, validators=[check_address])
    events = ExactJSONField(default=list)
    include_payload = models.BooleanField(
        default=False,
        help_text="Send inputs, comments, answers and changed inputs too: whoever listens there may see them.",
    )
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return self.name


class SigningSecret(models.Model):
    """A secret that signs webhooks. At most two of one owner are valid at a time; the newest does not expire.

    The secret itself is not stored: it is derived from `nonce` and SECRET_KEY. `fingerprint` shows whether SECRET_KEY has
    changed since.
    """

    endpoint = models.ForeignKey(WebhookEndpoint, on_delete=models.CASCADE, null=True, related_name="secrets")
    api_key = models.ForeignKey("approvals.ApiKey", on_delete=models.CASCADE, null=True, related_name="webhook_secrets")
    nonce = models.CharField(max_length=64, unique=True)
    fingerprint = models.CharField(max_length=16)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(endpoint__isnull=False, api_key__isnull=True)
                | Q(endpoint__isnull=True, api_key__isnull=False),
                name="signing_secret_one_owner",
            )
        ]

    def __str__(self) -> str:
        return self.fingerprint


class NotificationRule(models.Model):
    """Notifies a person, or each member of a group, of new requests, by mail or in a chat channel."""

    person = models.ForeignKey(User, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    group = models.ForeignKey("auth.Group", on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    route = models.CharField(max_length=5, choices=Route, default=Route.MAIL)
    slack_url = models.CharField(
        "Slack address",
        max_length=500,
        blank=True,
        validators=[check_address],
        help_text="An incoming webhook of Slack, or of what understands the same. Whoever knows it can write there.",
    )
    min_priority = models.CharField("from priority", max_length=8, choices=Priority, default=Priority.NORMAL)
    tool_name = models.CharField("tool", max_length=100, blank=True, help_text="Empty: whatever the tool.")
    active = models.BooleanField(default=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(person__isnull=False, group__isnull=True) | Q(person__isnull=True, group__isnull=False),
                name="notification_rule_one_audience",
                violation_error_message="Choose a person or a group, one of them.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_route_display()} to {self.person or self.group}"

    def clean(self) -> None:
        """Check that only a rule for Slack has an address, and that there is a mail server for one for mail."""
        if (self.route == Route.SLACK) != bool(self.slack_url):
            words = "is needed to tell people in Slack" if self.route == Route.SLACK else "belongs to Slack only"
            raise ValidationError({"slack_url": f"The address {words}."})
        if self.route == Route.MAIL and not settings.HITL_MAIL:
            raise ValidationError({"route": "No mail can be sent: EMAIL_HOST is not set."})


class LastNotice(models.Model):
    """When somebody was last notified, so that many requests become one message. `recipient` is an outbox target."""

    recipient = models.CharField(max_length=40, unique=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.recipient


class EventStream(models.Model):
    """The number of the last event of a stream. Its row lock keeps events in the order of their commits."""

    name = models.CharField(max_length=300, unique=True)
    last = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return self.name
