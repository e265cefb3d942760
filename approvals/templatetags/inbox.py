"""Template tags of long lists, which must be cheap: a time in very few words, and icons by name."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

register = template.Library()

#: Names of icons are constants of ours, so the text needs no escaping.
_ICON = '<svg class="icon" width="16" height="16" aria-hidden="true"><use href="{}#{}"></use></svg>'


@register.simple_tag
def icons_file() -> str:
    """Return the address of the icons, to look it up once for a whole list."""
    return static("pausepoint/icons.svg")


@register.simple_tag
def list_icon(file: str, name: str) -> SafeString:
    return mark_safe(_ICON.format(file, name))  # noqa: S308 - see _ICON


@register.simple_tag
def brief(when: datetime, kind: str = "ago") -> SafeString:
    """Return a time relative to now in few characters. `static/pausepoint/times.js` keeps it up to date."""
    exact = when.astimezone(UTC)
    return mark_safe(  # noqa: S308 - numbers and our own words
        f'<time datetime="{exact.isoformat(timespec="seconds")}" data-{kind} data-brief '
        f'title="{exact.strftime("%Y-%m-%d %H:%M:%S")} UTC">{_words((when - timezone.now()).total_seconds())}</time>'
    )


def _words(seconds: float) -> str:
    past, seconds = seconds < 0, abs(seconds)
    if seconds < 60:
        return _("just now") if past else _("in 1m")
    for size, ago, ahead in (
        (86400, _("%(number)dd ago"), _("in %(number)dd")),
        (3600, _("%(number)dh ago"), _("in %(number)dh")),
        (60, _("%(number)dm ago"), _("in %(number)dm")),
    ):
        if seconds >= size:
            return (ago if past else ahead) % {"number": seconds // size}
    return ""
