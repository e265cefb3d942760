"""Store how requests of a tool or of a priority are shown and decided, on record."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from approvals.actions.logins import SUBJECT
from approvals.models import PrioritySettings, ToolSettings
from approvals.record import audit
from approvals.states import Door, Priority

FIELDS = (
    *("key_fields", "secret_fields", "reason_required", "min_priority", "control", "prepared_answers"),
    *("no_grants", "grant_width", "grant_seconds", "grant_uses"),
)


def store_tool_settings(tool_name: str, fields: Mapping[str, Any], *, by: User) -> ToolSettings:
    """Store the settings of one tool; requests that are asked from now on get at least its priority, and hide its secrets.

    Fields that are left out stay. A grant that goes beyond the limits of now approves nothing more, and the sweep ends it.
    """
    chosen = {name: fields[name] for name in FIELDS if name in fields}
    with transaction.atomic():
        stored, _made = ToolSettings.objects.update_or_create(tool_name=tool_name, defaults=chosen)
        subject = audit.Subject(scope=SUBJECT.scope, tool_name=tool_name)
        audit.record("tool.changed", subject, data=chosen, actor=by, via=Door.DASHBOARD)
    return stored


def store_strict_priorities(priorities: Collection[str], *, by: User) -> None:
    """Store of which priorities an approval can be rejected only with a message; nothing is recorded if none changes."""
    wanted = set(priorities)
    with transaction.atomic():
        before = dict(
            PrioritySettings.objects.select_for_update(no_key=True).values_list("priority", "reason_required")
        )
        if {name for name, strict in before.items() if strict} == wanted:
            return
        for priority in Priority.values:
            strict = {"reason_required": priority in wanted}
            PrioritySettings.objects.update_or_create(priority=priority, defaults=strict)
        data = {"reason_required": [name for name in Priority.values if name in wanted]}
        audit.record("priority.changed", SUBJECT, data=data, actor=by, via=Door.DASHBOARD)
