"""Webhooks, what was delivered to them, and the API keys and rules that administrators see."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from approvals.models import OutboxEvent
from approvals.models.keys import ApiKey
from approvals.models.subscriptions import NotificationRule, WebhookEndpoint
from approvals.states import Channel

PAGE = 50


def endpoints() -> QuerySet[WebhookEndpoint]:
    """Return the webhooks, newest first."""
    return WebhookEndpoint.objects.order_by("-pk")


def deliveries_to(endpoint: WebhookEndpoint, *, before: int | None = None) -> tuple[list[OutboxEvent], int | None]:
    """Return a page of deliveries, newest first, and the id to continue before; None if there are no more."""
    found = OutboxEvent.objects.filter(channel=Channel.WEBHOOK, target=f"endpoint:{endpoint.pk}").order_by("-pk")
    page = list((found.filter(pk__lt=before) if before else found)[: PAGE + 1])
    shown = page[:PAGE]
    return shown, shown[-1].pk if len(page) > PAGE else None


def keys(*, before: int | None = None, search: str = "") -> tuple[list[ApiKey], int | None]:
    """Return a page of API keys, newest first, and the id to continue before; None if there are no more."""
    found = ApiKey.objects.select_related("user").order_by("-pk")
    if search:
        found = found.filter(Q(name__icontains=search) | Q(user__username__icontains=search) | Q(prefix=search))
    page = list((found.filter(pk__lt=before) if before else found)[: PAGE + 1])
    shown = page[:PAGE]
    return shown, shown[-1].pk if len(page) > PAGE else None


def key(pk: int) -> ApiKey | None:
    """Return an API key that is not revoked, with its user."""
    return ApiKey.objects.select_related("user").filter(pk=pk, revoked_at=None).first()


def rules() -> QuerySet[NotificationRule]:
    """Return the notification rules with whom they are for, newest first."""
    return NotificationRule.objects.select_related("person", "group").order_by("-pk")


def rules_for(user_id: int) -> QuerySet[NotificationRule]:
    """Return the active rules that send mail to this person."""
    audience = Q(person=user_id) | Q(group__user=user_id)
    return NotificationRule.objects.filter(audience, active=True, route=Channel.MAIL).distinct().order_by("pk")
