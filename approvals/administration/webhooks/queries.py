"""Webhooks and their deliveries."""

from __future__ import annotations

from django.db.models import QuerySet

from approvals.db.cursors import page_before
from approvals.models import OutboxEvent
from approvals.models.subscriptions import WebhookEndpoint
from approvals.states import Channel

PAGE = 50


def endpoints() -> QuerySet[WebhookEndpoint]:
    """Return the webhooks, newest first."""
    return WebhookEndpoint.objects.order_by("-pk")


def deliveries_to(
    endpoint: WebhookEndpoint, *, before: int | None = None
) -> tuple[list[OutboxEvent], int | None]:
    """Return a page of deliveries, newest first, and the id to continue before; None on the last page."""
    deliveries = OutboxEvent.objects.filter(
        channel=Channel.WEBHOOK, target=f"endpoint:{endpoint.pk}"
    ).order_by("-pk")
    return page_before(deliveries, before, PAGE)
