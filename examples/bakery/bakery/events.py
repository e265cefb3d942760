"""What the bakery hears from Pausepoint (HITL_EVENT_HANDLERS=bakery.events.remember)."""

from __future__ import annotations

from approvals.outbound.outbox import Event
from bakery.models import Heard


def remember(event: Event) -> None:
    """Events come at least once; the unique id makes it exactly once here."""
    Heard.objects.get_or_create(event_id=event.id, defaults={"name": event.name})
