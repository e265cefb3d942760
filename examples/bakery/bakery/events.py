"""A handler for events of Pausepoint (HITL_EVENT_HANDLERS=bakery.events.remember)."""

from __future__ import annotations

from approvals.outbound.outbox import Event
from bakery.models import Heard


def remember(event: Event) -> None:
    """Record an event once: events are delivered at least once, and the id is unique."""
    Heard.objects.get_or_create(event_id=event.id, defaults={"name": event.name})
