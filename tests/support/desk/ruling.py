"""The policy in tests: an administrator applies rules."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.test import override_settings

from approvals.actions import policy
from approvals.models import PolicyVersion
from approvals.queries.policy.rules.policy_versions import live_version
from approvals.states import Door
from tests.support.people import make_person


def administrator(name: str = "root") -> User:
    return User.objects.filter(username=name).first() or make_person(name, "administer", "view_approvalrequest")


def apply_policy(
    *rules: dict[str, Any], by: User | None = None, reason: str = "Because.", **more: Any
) -> PolicyVersion:
    """Make these rules the live policy, as where one administrator is enough."""
    live = live_version()
    with override_settings(HITL_ONE_ADMINISTRATOR=True):
        return policy.write_policy(
            {"rules": list(rules), **more},
            based_on=live.number if live is not None else None,
            reason=reason,
            by=by or administrator(),
            via=Door.DASHBOARD,
        )
