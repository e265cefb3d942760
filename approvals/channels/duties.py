"""The duties of the sweep for channels: stored clicks, calls of the channels, and posts to relays."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Now

from approvals.actions.channels import cards, sockets
from approvals.background import sweep
from approvals.channels import clicks, posting
from approvals.channels.relay import posting as relays
from approvals.channels.slack import socket_mode
from approvals.outbound import outbox
from approvals.outbound.delivery_lanes import DeliveryLanes
from approvals.states import Channel


def register_duties() -> None:
    """Register the duties: decisions never wait for Slack, so clicks have one of their own."""
    lanes = DeliveryLanes(posting.due_jobs)
    sweep.register(carry_out_clicks, lambda now: [clicks.due_clicks(now)])
    sweep.register(lanes.deliver_due, _due_calls)
    sweep.register(DeliveryLanes(relays.due_jobs).deliver_due, _due_posts)
    sweep.register(socket_mode.hold_connections, lambda now: [sockets.unheld(now)])


def carry_out_clicks() -> None:
    """Carry out the due clicks, oldest first."""
    rows = clicks.due_clicks(Now()).select_related("connection").order_by("pk")
    for click in rows[: clicks.BATCH]:
        if cards.claim(click):
            clicks.carry_out(click)


def _due_calls(now: Any) -> list[QuerySet[Any]]:
    return [
        posting.due_lines(now),
        posting.due_cards(now),
        outbox.due_events(now, Channel.CARD),
    ]


def _due_posts(now: Any) -> list[QuerySet[Any]]:
    return [relays.due_messages(now), outbox.due_events(now, Channel.RELAY)]
