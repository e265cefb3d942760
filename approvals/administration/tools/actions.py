"""Store display and decision settings of tools and priorities, on record."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from approvals.access.administrators import needs_second
from approvals.access.rights import DECIDE
from approvals.access.standing import Standing
from approvals.actions.changes import Kind, change_or_request
from approvals.actions.locking import lock_standing
from approvals.actions.logins import SUBJECT
from approvals.exceptions import NotAllowed
from approvals.models import (
    ApproverScope,
    PendingChange,
    PrioritySettings,
    ToolSettings,
)
from approvals.policy.loosening import priorities_loosen, tool_loosens
from approvals.record import audit
from approvals.states import Control, Door, Priority
from approvals.text.names import fold

FIELDS = (
    *(
        "key_fields",
        "secret_fields",
        "reason_required",
        "min_priority",
        "control",
        "prepared_answers",
    ),
    *("no_grants", "grant_width", "grant_seconds", "grant_uses"),
)


def store_tool_settings(
    tool_name: str, fields: Mapping[str, Any], *, by: User
) -> PendingChange | None:
    """Store the settings of a tool; new requests get at least its priority and hide its secrets. Omitted fields stay.

    A grant beyond the new limits approves nothing more, and the sweep ends it. Return the pending change if it loosens limits and
    needs another administrator. Raise NotAllowed.
    """
    chosen = {name: fields[name] for name in FIELDS if name in fields}
    with transaction.atomic():
        standing = lock_standing(by)
        before = described(tool_name)
        loosens = tool_loosens(before, before | chosen)
        if loosens and needs_second(standing):
            require_no_own_loosening(before, before | chosen, by=standing)
        return change_or_request(
            Kind.TOOL,
            chosen,
            subject=fold(tool_name),
            before=before,
            loosens=loosens,
            standing=standing,
            write=lambda: write_tool_settings(tool_name, chosen, by=by),
            alone={"tool": tool_name},
            by=by,
            via=Door.DASHBOARD,
        )


def write_tool_settings(tool_name: str, chosen: Mapping[str, Any], *, by: User) -> None:
    """Write the settings of a tool, on record."""
    ToolSettings.objects.update_or_create(tool_name=tool_name, defaults=dict(chosen))
    subject = audit.Subject(scope=SUBJECT.scope, tool_name=tool_name)
    audit.record("tool.changed", subject, data=chosen, actor=by, via=Door.DASHBOARD)


def require_no_own_loosening(
    before: Mapping[str, Any], after: Mapping[str, Any], *, by: Standing
) -> None:
    """Raise NotAllowed if a decider would loosen a limit on their own decisions for a tool."""
    if by.is_superuser or DECIDE not in by.rights:
        return
    if before["control"] == Control.FOUR_EYES and after["control"] != Control.FOUR_EYES:
        raise NotAllowed(
            _(
                "You decide requests yourself, so you cannot turn off the two-person rule for a tool. Ask "
                "another administrator."
            )
        )
    if before["key_fields"] == after["key_fields"] or not by.is_limited:
        return
    decides_as = {by.pk, *by.away_for}
    limited = ApproverScope.objects.filter(limit__isnull=False)
    if limited.filter(
        Q(people__in=decides_as) | Q(teams__user__in=decides_as)
    ).exists():
        raise NotAllowed(
            _(
                "One of your scopes has a limit that is compared with the key fields of this tool. Ask "
                "another administrator to change them."
            )
        )


def described(tool_name: str) -> dict[str, Any]:
    """Return a tool's settings in the form that is compared; the defaults for a tool without settings."""
    stored = ToolSettings.objects.filter(tool_name=tool_name).first() or ToolSettings(
        tool_name=tool_name
    )
    return {name: getattr(stored, name) for name in FIELDS} | {
        "secret_fields": stored.secret_fields or []
    }


def store_strict_priorities(
    priorities: Collection[str], *, by: User
) -> PendingChange | None:
    """Store the priorities whose rejections need a message; record nothing if nothing changes.

    Return the pending change if it loosens the setting and needs another administrator.
    """
    wanted = [name for name in Priority.values if name in set(priorities)]
    with transaction.atomic():
        standing = lock_standing(by)
        before = sorted_priorities()
        if before == wanted:
            return None
        return change_or_request(
            Kind.PRIORITIES,
            wanted,
            subject="reason_required",
            before=before,
            loosens=priorities_loosen(before, wanted),
            standing=standing,
            write=lambda: write_strict_priorities(wanted, by=by),
            alone={"before": before, "after": wanted},
            by=by,
            via=Door.DASHBOARD,
        )


def write_strict_priorities(wanted: Sequence[str], *, by: User) -> None:
    for priority in Priority.values:
        strict = {"reason_required": priority in wanted}
        PrioritySettings.objects.update_or_create(priority=priority, defaults=strict)
    data = {"reason_required": list(wanted)}
    audit.record("priority.changed", SUBJECT, data=data, actor=by, via=Door.DASHBOARD)


def sorted_priorities() -> list[str]:
    """Return the priorities whose rejections need a message, least urgent first."""
    strict = set(
        PrioritySettings.objects.filter(reason_required=True).values_list(
            "priority", flat=True
        )
    )
    return [name for name in Priority.values if name in strict]
