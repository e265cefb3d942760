"""Subscriptions to events: webhooks with their secrets, and notification rules. Edited in the settings and the admin."""

from __future__ import annotations

from typing import Any, ClassVar
from urllib.parse import unquote

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q, Value
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from approvals.addresses import RefusedAddress, parse_destination
from approvals.db.fields import ExactJSONField
from approvals.models.channels import ChannelConnection, Shows
from approvals.models.push import PushSubscription
from approvals.states import KIND_OF_ROUTE, Priority, Route

User = settings.AUTH_USER_MODEL


def check_address(url: str) -> None:
    """Raise ValidationError unless a webhook may be sent to this address."""
    try:
        parse_destination(url, allow_private=settings.HITL_WEBHOOK_ALLOW_PRIVATE)
    except RefusedAddress as error:
        raise ValidationError(
            _("The address %(problem)s."), params={"problem": error}
        ) from error


check_slack_channel = RegexValidator(
    r"\A[CGD][A-Z0-9]{5,39}\Z",
    _(
        "This is not the ID of a Slack channel. It begins with C and is at the end of the channel's details."
    ),
)
check_teams_channel = RegexValidator(
    r"\A19:[A-Za-z0-9_.:-]{1,150}@thread\.(?:tacv2|skype|v2)\Z",
    _(
        "This is not a link to a channel of Teams. Choose “Get link to channel” in the channel's menu, and copy it."
    ),
)
CHANNEL_CHECKS = {"slack": check_slack_channel, "teams": check_teams_channel}


def channel_in(entered: str) -> str:
    """Return the id of the channel in a link that Teams gives; anything else as it is."""
    _before, separator, rest = entered.strip().partition("/l/channel/")
    return unquote(rest.partition("/")[0]) if separator else entered.strip()


class WebhookEndpoint(models.Model):
    """An address that gets the events of every workflow, signed with its own secrets."""

    name = models.CharField(
        max_length=100,
        help_text=_("The application behind this URL, such as “billing”."),
    )
    url = models.CharField(_("address"), max_length=500, validators=[check_address])
    events = ExactJSONField(default=list)
    include_payload = models.BooleanField(
        default=False,
        help_text=_(
            "Also send inputs, comments, answers and edited inputs. The receiver can read them."
        ),
    )
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return self.name


class SigningSecret(models.Model):
    """A signing secret of webhooks. An owner has at most two valid ones; the newest does not expire.

    The secret itself is not stored: it is derived from `nonce` and SECRET_KEY. `fingerprint` shows whether SECRET_KEY has changed
    since.
    """

    endpoint = models.ForeignKey(
        WebhookEndpoint, on_delete=models.CASCADE, null=True, related_name="secrets"
    )
    api_key = models.ForeignKey(
        "approvals.ApiKey",
        on_delete=models.CASCADE,
        null=True,
        related_name="webhook_secrets",
    )
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

    person = models.ForeignKey(
        User, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    group = models.ForeignKey(
        "auth.Group", on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    route = models.CharField(max_length=7, choices=Route, default=Route.MAIL)
    slack_url = models.CharField(
        _("Slack address"),
        max_length=500,
        blank=True,
        validators=[check_address],
        help_text=_(
            "An incoming webhook of Slack or a compatible service. Anyone who knows the URL can post there."
        ),
    )
    channel_id = models.CharField(
        _("channel"),
        max_length=500,
        blank=True,
        help_text=_(
            "With buttons: the ID of the channel in Slack, the link to it in Teams. Leave it empty for direct messages."
        ),
    )
    shows = models.CharField(
        _("What a card shows"),
        max_length=6,
        choices=Shows,
        default=Shows.INPUT,
        help_text=_(
            "Everyone in the channel can read the card. It has buttons to decide only if it shows everything that is approved."
        ),
    )
    relay = models.ForeignKey(
        ChannelConnection,
        verbose_name=_("relay"),
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        limit_choices_to={"kind": ChannelConnection.Kind.RELAY},
        related_name="+",
        help_text=_("For the route Relay: the one that carries the messages."),
    )
    min_priority = models.CharField(
        _("from priority"), max_length=8, choices=Priority, default=Priority.NORMAL
    )
    tool_name = models.CharField(
        _("tool"), max_length=100, blank=True, help_text=_("Leave empty for all tools.")
    )
    above_amount = models.FloatField(
        _("above the amount"),
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_(
            "Only requests over this amount, or without an amount. Leave it empty for all requests."
        ),
    )
    to_assignee = models.BooleanField(
        _("to the assignee only"),
        default=False,
        help_text=_(
            "For direct messages in a chat: when a request is assigned to one of these people, instead of when it is new."
        ),
    )
    active = models.BooleanField(default=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(person__isnull=False, group__isnull=True)
                | Q(person__isnull=True, group__isnull=False),
                name="notification_rule_one_audience",
                violation_error_message=_("Choose a person or a group, one of them."),
            )
        ]

    def __str__(self) -> str:
        to = self.person or self.group
        return gettext("%(route)s to %(person)s") % {
            "route": self.get_route_display(),
            "person": to,
        }

    @property
    def kind(self) -> str:
        """The kind of channel in which it posts cards with buttons; empty for other routes."""
        return KIND_OF_ROUTE.get(Route(self.route), "")

    def clean(self) -> None:
        """Check that only Slack rules have an address, and that mail rules have a mail server."""
        if (self.route == Route.SLACK) != bool(self.slack_url):
            needed = _("Enter the Slack address, or choose another route.")
            unused = _("Remove the Slack address, or choose Slack as the route.")
            raise ValidationError(
                {"slack_url": needed if self.route == Route.SLACK else unused}
            )
        if self.channel_id and not self.kind:
            unused = _("Remove the channel, or choose a route with buttons.")
            raise ValidationError({"channel_id": unused})
        direct = self.route == Route.RELAY or (self.kind and not self.channel_id)
        if self.to_assignee and not direct:
            unused = _("Choose a relay, or a route with buttons without a channel.")
            raise ValidationError({"to_assignee": unused})
        self.channel_id = channel_in(self.channel_id)
        if self.channel_id:
            _check_channel(self.kind, self.channel_id)
        if (self.route == Route.RELAY) != bool(self.relay_id):
            needed = _("Choose the relay, or another route.")
            unused = _("Remove the relay, or choose Relay as the route.")
            raise ValidationError(
                {"relay": needed if self.route == Route.RELAY else unused}
            )
        connected = ChannelConnection.objects.filter(kind=self.kind)
        if self.kind and not connected.exists():
            words = gettext("Connect %(channel)s first, under Administration.")
            channel = ChannelConnection.Kind(self.kind).label
            raise ValidationError({"route": words % {"channel": channel}})
        if self.route == Route.MAIL and not settings.HITL_MAIL:
            raise ValidationError(
                {"route": _("No email can be sent because EMAIL_HOST is not set.")}
            )


def _check_channel(kind: str, channel_id: str) -> None:
    try:
        CHANNEL_CHECKS[kind](channel_id)
    except ValidationError as error:
        raise ValidationError({"channel_id": error.messages}) from error


def told() -> tuple[models.QuerySet[Any], ...]:
    """Return the querysets whose rows notify people of new requests."""
    return NotificationRule.objects.filter(active=True), PushSubscription.objects.all()


def subscribers() -> models.QuerySet[Any, tuple[int | None, str, list[str]]]:
    """Return ids, addresses and event names of the active webhooks, and a row without an id if anyone is notified."""
    nobody = (
        Value(None, models.BigIntegerField()),
        Value(""),
        Value([], ExactJSONField()),
    )
    webhooks = WebhookEndpoint.objects.filter(active=True).values_list(
        "pk", "url", "events"
    )
    return webhooks.union(*(rows.values_list(*nobody) for rows in told())).order_by(
        "pk"
    )


def heard() -> models.Expression:
    """Return the condition that anyone gets events: a webhook, or people by a rule or in a browser."""
    anyone = Q(models.Exists(WebhookEndpoint.objects.filter(active=True)))
    for rows in told():
        anyone |= Q(models.Exists(rows))
    return models.ExpressionWrapper(anyone, models.BooleanField())


class LastNotice(models.Model):
    """The last notification of a recipient, used to merge many requests into one message. `recipient` is an outbox target."""

    recipient = models.CharField(max_length=40, unique=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.recipient


class EventStream(models.Model):
    """The number of a stream's last event. Its row lock keeps events in commit order."""

    name = models.CharField(max_length=300, unique=True)
    last = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return self.name
