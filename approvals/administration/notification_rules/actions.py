"""Create, change and remove notification rules, on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.actions.logins import SUBJECT
from approvals.exceptions import NotFound
from approvals.models.subscriptions import NotificationRule
from approvals.record import audit
from approvals.states import Door

FIELDS = (
    "person",
    "group",
    "route",
    "slack_url",
    "channel_id",
    "relay",
    "shows",
    "min_priority",
    "tool_name",
    "above_amount",
    "to_assignee",
    "active",
)
#: The audience is recorded by name. Anyone who knows the Slack address can post there.
UNRECORDED = {"person", "group", "slack_url", "relay"}


def store_rule(
    rule_id: int | None, fields: Mapping[str, Any], *, by: User, via: Door
) -> NotificationRule:
    """Create or change a rule. Raise NotFound."""
    with transaction.atomic():
        rule = NotificationRule() if rule_id is None else _locked(rule_id)
        for name in FIELDS:
            setattr(rule, name, fields[name])
        rule.save()
        _record(rule, "created" if rule_id is None else "changed", by, via)
    return rule


def remove_rule(rule_id: int, *, by: User, via: Door) -> None:
    """Remove a rule. Raise NotFound."""
    with transaction.atomic():
        rule = _locked(rule_id)
        _record(rule, "removed", by, via)
        rule.delete()


def _locked(rule_id: int) -> NotificationRule:
    rule = (
        NotificationRule.objects.select_for_update(no_key=True)
        .filter(pk=rule_id)
        .first()
    )
    if rule is None:
        raise NotFound(_("Rule not found. Someone may have removed it."))
    return rule


def _record(rule: NotificationRule, change: str, by: User, via: Door) -> None:
    data = {
        "change": change,
        "rule_id": rule.pk,
        "person": rule.person.get_username() if rule.person else None,
        "team": rule.group.name if rule.group else None,
        "relay": rule.relay.team_name if rule.relay else None,
        **{name: getattr(rule, name) for name in FIELDS if name not in UNRECORDED},
    }
    audit.record("rule.changed", SUBJECT, data=data, actor=by, via=via)
