"""Channels in which people answer, such as Slack: the connection, linked accounts, posted cards and stored clicks."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.db.fields import ExactJSONField
from approvals.models.keys import PublishedKeys

User = settings.AUTH_USER_MODEL


class SocketState(models.TextChoices):
    """The outgoing connection over which a channel brings clicks (Socket Mode of Slack)."""

    OFF = ""
    LOST = "lost"
    CONNECTED = "connected"
    REFUSED = "refused"


class ChannelConnection(models.Model):
    """The one connection to the workspace of a channel, or one of the relays. `secret` holds its tokens, encrypted together.

    `problem` is the code of the last refused call, empty after one that succeeded; `problem_in` is the id of its conversation.
    """

    class Kind(models.TextChoices):
        SLACK = "slack", "Slack"
        TEAMS = "teams", "Microsoft Teams"
        RELAY = "relay", _("Relay")

    kind = models.CharField(max_length=8, choices=Kind)
    app_id = models.CharField(max_length=40)
    team_id = models.CharField(max_length=40)
    team_name = models.CharField(max_length=200)
    bot_id = models.CharField(max_length=40)
    secret = models.TextField()
    problem = models.CharField(max_length=80, blank=True)
    problem_in = models.CharField(max_length=200, blank=True)
    problem_at = models.DateTimeField(null=True)
    connected_at = models.DateTimeField(default=timezone.now)
    #: The process that holds the outgoing connection until then, and the state of that connection.
    socket_holder = models.CharField(max_length=64, blank=True)
    socket_until = models.DateTimeField(null=True)
    socket_state = models.CharField(max_length=20, blank=True)
    socket_problem = models.CharField(max_length=80, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["kind", "team_id"], name="channel_connection_once"
            ),
            models.UniqueConstraint(
                fields=["kind"],
                condition=~Q(kind="relay"),
                name="channel_connection_of_kind",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.team_name}"

    @property
    def label(self) -> str:
        """The channel's name for people; a relay has one of its own."""
        relay = self.kind == self.Kind.RELAY
        return self.team_name if relay else str(self.Kind(self.kind).label)


class ChannelIssuer(PublishedKeys):
    """An issuer of the tokens with which a channel proves its calls."""

    connection = models.ForeignKey(
        ChannelConnection,
        on_delete=models.CASCADE,
        related_name="issuers",
        db_index=False,
    )
    #: Compared with `iss` exactly.
    issuer = models.CharField(max_length=254)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["connection", "issuer"], name="channel_issuer_once"
            )
        ]

    def __str__(self) -> str:
        return self.issuer

    @property
    def private(self) -> bool:
        """Whether it may be in a private network and use plain HTTP."""
        return settings.HITL_WEBHOOK_ALLOW_PRIVATE


class ChannelAccount(models.Model):
    """A person's account in a channel, linked by logging in at the desk. It ends with the person's account."""

    connection = models.ForeignKey(
        ChannelConnection,
        on_delete=models.CASCADE,
        related_name="accounts",
        db_index=False,
    )
    team_id = models.CharField(max_length=40)
    external_id = models.CharField(max_length=200)
    name = models.CharField(max_length=200, blank=True)
    user = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="channel_accounts"
    )
    linked_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["connection", "team_id", "external_id"],
                name="channel_account_once",
            ),
            models.UniqueConstraint(
                fields=["connection", "user"], name="channel_account_of_person"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.team_id}/{self.external_id}"

    @property
    def recorded(self) -> str:
        """The account as the audit log names it beside the person."""
        return f"{self.connection.kind}:{self.team_id}/{self.external_id}"


class ChannelLinkOffer(models.Model):
    """A link that a channel's bot has sent to link an account; it works once. Only its digest is stored."""

    connection = models.ForeignKey(ChannelConnection, on_delete=models.CASCADE)
    team_id = models.CharField(max_length=40)
    external_id = models.CharField(max_length=200)
    name = models.CharField(max_length=200, blank=True)
    token_digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.team_id}/{self.external_id}"


class Shows(models.TextChoices):
    """The part of a request that a card shows to everyone in its conversation."""

    TITLE = "title", _("Title only")
    FIELDS = "fields", _("Title and key fields")
    INPUT = "input", _("The whole request")


class ChannelCard(models.Model):
    """A posted card of a request, rewritten until the request has ended and its result was reported.

    `look` is the digest of the posted card, `synced_at` the `changed_at` of the request that it shows, null to look at it again.
    `hidden`: it shows no content; `ended`: it shows the end; `reported`: its thread knows the result, or never will.
    """

    connection = models.ForeignKey(
        ChannelConnection, on_delete=models.CASCADE, related_name="cards"
    )
    request = models.ForeignKey(
        "approvals.ApprovalRequest", on_delete=models.CASCADE, related_name="cards"
    )
    #: The recipient of a direct message, in whose language it is; null in a channel.
    person = models.ForeignKey(
        User, on_delete=models.CASCADE, null=True, related_name="+"
    )
    channel_id = models.CharField(max_length=200)
    message_ts = models.CharField(max_length=100)
    shows = models.CharField(max_length=6, choices=Shows, default=Shows.TITLE)
    look = models.CharField(max_length=64, blank=True)
    synced_at = models.DateTimeField(null=True)
    hidden = models.BooleanField(default=False)
    ended = models.BooleanField(default=False)
    reported = models.BooleanField(default=False)
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(default=timezone.now)
    posted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["connection", "channel_id", "message_ts"],
                name="channel_card_message",
            )
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["next_attempt_at"],
                name="channel_card_open",
                condition=Q(reported=False) | Q(synced_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return f"{self.channel_id}/{self.message_ts}"


class ChannelClick(models.Model):
    """A click or a submitted form, stored before it is acknowledged and carried out after that.

    `key` identifies it, so that a repeat is stored once. `data` loses its values when it is done. `reply` is the line that the
    clicker has yet to be sent, and `offers` whether it comes with a link to link the account.
    """

    connection = models.ForeignKey(
        ChannelConnection, on_delete=models.CASCADE, related_name="clicks"
    )
    key = models.CharField(max_length=64, unique=True)
    team_id = models.CharField(max_length=40)
    external_id = models.CharField(max_length=40)
    channel_id = models.CharField(max_length=200)
    message_ts = models.CharField(max_length=100, blank=True)
    data = ExactJSONField()
    received_at = models.DateTimeField(default=timezone.now, db_index=True)
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(default=timezone.now)
    done_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=40, blank=True)
    reply = models.TextField(blank=True)
    offers = models.BooleanField(default=False)

    class Meta:
        indexes: ClassVar = [
            models.Index(
                fields=["next_attempt_at"],
                name="channel_click_waiting",
                condition=Q(done_at__isnull=True),
            ),
            models.Index(
                fields=["next_attempt_at"],
                name="channel_click_unanswered",
                condition=~Q(reply=""),
            ),
        ]

    def __str__(self) -> str:
        return self.key
