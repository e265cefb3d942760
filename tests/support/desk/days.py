"""Days as a form sends them."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone


def day_in(days: int) -> str:
    """The day after this many days, in the time zone of the site."""
    return (timezone.localdate() + timedelta(days=days)).isoformat()
