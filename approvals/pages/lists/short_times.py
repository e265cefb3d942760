"""Short times for lists."""

from __future__ import annotations

from datetime import UTC, datetime

from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _


def brief(when: datetime, kind: str = "ago") -> SafeString:
    """Return a time relative to now as an element. `static/pausepoint/times.js` keeps it up to date."""
    exact = when.astimezone(UTC)
    shown = f"{exact:%Y-%m-%d %H:%M:%S}"
    return mark_safe(  # noqa: S308 - numbers and our own words
        f'<time datetime="{shown[:10]}T{shown[11:]}+00:00" data-{kind} data-brief '
        f'title="{shown} UTC">{_distance((when - timezone.now()).total_seconds())}</time>'
    )


def _distance(seconds: float) -> str:
    past = seconds < 0
    seconds = abs(seconds)
    if seconds < 60:
        return _("just now") if past else _("in 1m")
    if seconds >= 86400:
        return (_("%(number)sd ago") if past else _("in %(number)sd")) % {
            "number": int(seconds / 86400)
        }
    if seconds >= 3600:
        return (_("%(number)sh ago") if past else _("in %(number)sh")) % {
            "number": int(seconds / 3600)
        }
    return (_("%(number)sm ago") if past else _("in %(number)sm")) % {
        "number": int(seconds / 60)
    }
