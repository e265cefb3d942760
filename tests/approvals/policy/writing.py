"""Policies and facts in tests of the policy."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from approvals.policy.match import Facts
from approvals.policy.policies import Directory, policy_of, stored_form
from approvals.policy.rules import Policy, Requester, RuleFacts

#: A Tuesday.
AT = datetime(2026, 11, 24, 14, 30, tzinfo=UTC)
DIRECTORY = Directory(people={"alice": 1, "bob": 2}, teams={"finance": 5, "security": 6}, roles={"approver": 9})


def policy(*rules: dict[str, Any], **more: Any) -> Policy:
    """Return the policy of these rules, which get names if they have none."""
    named = [{"name": f"rule {number}"} | rule for number, rule in enumerate(rules, 1)]
    return policy_of(stored_form({"rules": named, **more}, DIRECTORY))


def facts(
    value: dict[str, Any] | None = None, *, context: Any = None, requester: Requester | None = None, **changes: Any
) -> RuleFacts:
    known = {"tool": "refund", "agent": "billing", "kind": "approval", "source": "api", "priority": "normal"}
    match = Facts(**known | {"requester": 1} | changes, input={"amount": 120} if value is None else value)
    who = requester or Requester("alice", ["support"], ["requester"])
    return RuleFacts(match=match, at=AT, requester=lambda: who, context=context)
