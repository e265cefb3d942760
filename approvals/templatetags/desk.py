"""Template tags of the desk: safe Markdown, times that a page can keep up to date, and whether the record is protected."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.db import connection
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from approvals.runtime import append_only
from approvals.runtime.markdown import to_html
from approvals.runtime.text import visible
from approvals.states import Door

register = template.Library()


@register.filter
def markdown(text: str) -> SafeString:
    return mark_safe(to_html(text))  # noqa: S308 - cleaned by an allow-list


register.filter("visible", visible)


@register.filter
def via(value: str) -> str:
    """Return the name that people read for a stored `via` value."""
    return str(Door(value).label) if value in Door.values else value


@register.simple_tag
def moment(when: datetime | None, kind: str = "ago") -> SafeString | str:
    """A time relative to now; `static/pausepoint/live.js` keeps it right, the title holds the exact time in UTC."""
    if when is None:
        return ""
    exact = when.astimezone(UTC)
    return format_html(
        '<time datetime="{}" data-{}="" title="{} UTC">{}</time>',
        exact.isoformat(),
        kind,
        exact.strftime("%Y-%m-%d %H:%M:%S"),
        naturaltime(when),
    )


@register.simple_tag
def record_unprotected() -> str:
    """The table that holds a row which switches the append-only triggers off; empty where they are on."""
    return append_only.SWITCH if append_only.left_on(connection) else ""
