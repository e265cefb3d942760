"""Relays: programs of the customer that carry requests into other chats, and the messages that they show."""

from __future__ import annotations

from typing import ClassVar
from uuid import uuid4

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.db.fields import ExactJSONField
from approvals.models.channels import ChannelAccount, ChannelConnection, Shows
from approvals.models.subscriptions import check_address


class Relay(models.Model):
    """The address of a relay, and the limits of its messages. Its connection holds its name, its secret and its accounts."""

    connection = models.OneToOneField(ChannelConnection, on_delete=models.CASCADE)
    address = models.CharField(_("address"), max_length=500, validators=[check_address])
    shows = models.CharField(
        _("What a message shows"), max_length=6, choices=Shows, default=Shows.TITLE
    )
    up_to = models.FloatField(
        _("up to the amount"), null=True, blank=True, validators=[MinValueValidator(0)]
    )

    def __str__(self) -> str:
        return self.connection.team_name


check_relay_name = RegexValidator(
    r"\A[a-z][a-z0-9-]{0,39}\Z",
    _("Use lowercase letters, digits and hyphens, such as mattermost."),
)


class RelayMessage(models.Model):
    """A request as a relay shows it to one person, sent again whenever it changes, with a new token.

    Only the digest of the token is stored. It answers `shown_digest` with one of `verdicts`, once, until it expires. `look` is
    the digest of the sent content, `synced_at` the `changed_at` of the request that it shows, null to look at it again.
    """

    id = models.UUIDField(primary_key=True, default=uuid4)
    account = models.ForeignKey(
        ChannelAccount, on_delete=models.CASCADE, related_name="messages"
    )
    request = models.ForeignKey(
        "approvals.ApprovalRequest", on_delete=models.CASCADE, related_name="+"
    )
    revision = models.PositiveIntegerField(default=0)
    token_digest = models.CharField(max_length=64, blank=True)
    shown_digest = models.CharField(max_length=80, blank=True)
    verdicts = ExactJSONField(default=list)
    expires_at = models.DateTimeField(null=True)
    answered_at = models.DateTimeField(null=True)
    look = models.CharField(max_length=64, blank=True)
    synced_at = models.DateTimeField(null=True)
    ended = models.BooleanField(default=False)
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(default=timezone.now)
    posted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["account", "request"], name="relay_message_once"
            ),
            models.UniqueConstraint(
                fields=["token_digest"],
                condition=~Q(token_digest=""),
                name="relay_message_token",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["next_attempt_at"],
                name="relay_message_open",
                condition=Q(ended=False) | Q(synced_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)
