"""Template tags for long lists, which must be cheap: short times, and icons by name."""

from __future__ import annotations

from django import template
from django.templatetags.static import static
from django.utils.safestring import SafeString, mark_safe

from approvals.pages.lists.short_times import brief

register = template.Library()
register.simple_tag(brief)

#: Names of icons are constants of ours, so the text needs no escaping.
_ICON = '<svg class="icon" width="16" height="16" aria-hidden="true"><use href="{}#{}"></use></svg>'


@register.simple_tag
def icons_file() -> str:
    """Return the address of the icons, looked up once for a whole list."""
    return static("pausepoint/icons.svg")


@register.simple_tag
def list_icon(file: str, name: str) -> SafeString:
    return mark_safe(_ICON.format(file, name))  # noqa: S308 - see _ICON
