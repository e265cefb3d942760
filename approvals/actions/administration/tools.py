"""Store how requests of a tool are shown and decided, on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from approvals.actions.logins import SUBJECT
from approvals.models import ToolSettings
from approvals.record import audit
from approvals.states import Door

FIELDS = ("key_fields", "reason_required", "min_priority", "prepared_answers")


def store_tool_settings(tool_name: str, fields: Mapping[str, Any], *, by: User) -> ToolSettings:
    """Store the settings of one tool; requests that are asked from now on get at least its priority."""
    chosen = {name: fields[name] for name in FIELDS}
    with transaction.atomic():
        stored, _made = ToolSettings.objects.update_or_create(tool_name=tool_name, defaults=chosen)
        subject = audit.Subject(scope=SUBJECT.scope, tool_name=tool_name)
        audit.record("tool.changed", subject, data=chosen, actor=by, via=Door.DASHBOARD)
    return stored
