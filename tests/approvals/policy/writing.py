"""Policies and facts in tests of the policy."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from approvals.policy.asks import Asking, Deadline
from approvals.policy.match import Facts
from approvals.policy.policies import Directory, policy_of, stored_form
from approvals.policy.rules import Policy, Requester, RuleFacts
from approvals.policy.terms import Stage

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


def is_at_least(strict: Asking, weak: Asking) -> bool:
    """Return whether terms ask for everything that other terms ask for."""
    switches = ("veto", "typed_name", "fresh_sign_in")
    return (
        _has_stages(strict.terms.stages, weak.terms.stages)
        and all(getattr(strict.terms, name) >= getattr(weak.terms, name) for name in switches)
        and _rank(strict.terms.reason, [None, "rejection", "always"])
        >= _rank(weak.terms.reason, [None, "rejection", "always"])
        and (strict.terms.on_expire is not None or weak.terms.on_expire is None)
        and (weak.with_requester or not strict.with_requester)
        and _ends_earlier(strict.deadline, weak.deadline)
        and _rank(strict.priority, PRIORITIES) >= _rank(weak.priority, PRIORITIES)
    )


PRIORITIES = ["", "low", "normal", "high", "critical"]


def _rank(value: Any, order: list[Any]) -> int:
    return order.index(value)


def _ends_earlier(strict: Deadline | None, weak: Deadline | None) -> bool:
    if strict is None or weak is None:
        return weak is None
    order = ["default", "reject", "halt"]
    return strict.after <= weak.after and _rank(strict.then, order) >= _rank(weak.then, order)


def _has_stages(strict: Sequence[Stage], weak: Sequence[Stage]) -> bool:
    """Return whether stages have others among them, in their order, with as many votes of each group."""
    left = iter(strict)
    return all(any(_is_stage(one, each) for one in left) for each in weak)


def _is_stage(strict: Stage, weak: Stage) -> bool:
    def groups(stage: Stage) -> list[tuple[list[int], list[int], int]]:
        return sorted((sorted(set(group.people)), sorted(set(group.teams)), group.votes) for group in stage.groups)

    pairs = list(zip(groups(strict), groups(weak), strict=False))
    same = strict.any == weak.any and len(strict.groups) == len(weak.groups)
    return same and all(one[:2] == other[:2] and one[2] >= other[2] for one, other in pairs)
