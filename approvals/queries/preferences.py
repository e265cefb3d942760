"""What a person has chosen for themselves, and what administrators have chosen for tools."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import CharField

from approvals.access.permissions import Person
from approvals.models import Preferences, ToolSettings
from approvals.runtime.many import any_of
from approvals.runtime.prepared import Parameter, Prepared


def preferences_of(user: Person) -> Preferences:
    """Return a person's preferences; the defaults if they have chosen none or are not logged in."""
    found = Preferences.objects.filter(person=user.pk).first() if user.pk else None
    return found or Preferences(person_id=user.pk or 0)


_LEAST: Prepared[str] = Prepared(
    lambda: ToolSettings.objects.filter(tool_name=Parameter("tool", CharField())).values_list("min_priority", flat=True)
)


def least_priority(tool_name: str) -> str:
    """Return the priority that requests of this tool have at least; empty if it is up to who asks."""
    return (_LEAST.first(tool=tool_name) or "") if tool_name else ""


def settings_of_tools(names: Collection[str]) -> dict[str, ToolSettings]:
    """Return the settings of these tools by name, in one statement; tools without settings are missing."""
    wanted = {name for name in names if name}
    if not wanted:
        return {}
    return {found.tool_name: found for found in ToolSettings.objects.filter(tool_name__in=any_of(wanted, str))}


def tools_with_reason(names: Collection[str]) -> set[str]:
    """Return which of these tools can be rejected only with a message."""
    wanted = {name for name in names if name}
    if not wanted:
        return set()
    found = ToolSettings.objects.filter(tool_name__in=any_of(wanted, str), reason_required=True)
    return set(found.values_list("tool_name", flat=True))
