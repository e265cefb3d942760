"""Template tags for fragments pushed to open pages, which must fit into a WebSocket message."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from approvals.pages.cards import Card

register = template.Library()

#: Bytes of a pushed card; pages fetch larger ones themselves. A message of more than 1 MiB would close the socket.
MAX_CARD = 256 * 1024


@register.simple_tag(takes_context=True)
def pushed_card(context: Context, card: Card) -> SafeString:
    """Return the card as an out-of-band fragment; for a large card, a fragment that makes the page fetch it."""
    values: dict[str, Any] = context.flatten()  # type: ignore[assignment]
    values |= {"card": card, "oob": True}
    whole = render_to_string("approvals/request/_card.html", values)
    if len(whole.encode()) <= MAX_CARD:
        return whole
    return render_to_string("approvals/request/_fetched_card.html", values)
