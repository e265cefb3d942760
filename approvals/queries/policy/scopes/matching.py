"""The approver scopes that match a request."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group, User
from django.db.models import Prefetch, QuerySet

from approvals.access.scopes import ChangedInput
from approvals.db.many import any_of
from approvals.models import ApprovalRequest, ApproverScope, ScopeSetMember
from approvals.policy.documents import match_from
from approvals.policy.match import Facts, Match, server_of
from approvals.record.amounts import amount_at


@dataclass(frozen=True, slots=True)
class Scopes:
    """All scopes in the order of their ids. `upto` is the last id."""

    matches: Sequence[tuple[int, Match]]

    @property
    def upto(self) -> int:
        return self.matches[-1][0] if self.matches else 0

    def fitting(self, facts: Facts) -> list[int]:
        """Return the ids of the matching scopes, sorted."""
        return [pk for pk, match in self.matches if match.fits(facts)]


def changes_of(changed: Mapping[ApprovalRequest, Any]) -> dict[UUID, ChangedInput]:
    """Return changed inputs for scope checks, by request id, in one statement; none if no scope matches the requests."""
    sets = {
        request.scope_set_id for request in changed if request.scope_set_id is not None
    }
    matches: dict[int | None, list[tuple[int, Match]]] = {}
    rows = (
        ScopeSetMember.objects.filter(scope_set__in=any_of(sets, int))
        if sets
        else ScopeSetMember.objects.none()
    )
    for scope_set, scope, match in rows.values_list(
        "scope_set", "scope", "scope__match"
    ):
        matches.setdefault(scope_set, []).append((scope, match_from(match)))
    changes = {}
    for request, value in changed.items():
        facts = replace(facts_of(request), input=value)
        fitting = frozenset(
            scope
            for scope, match in matches.get(request.scope_set_id, ())
            if match.fits(facts)
        )
        changes[request.pk] = ChangedInput(
            amount_at(value, request.amount_pointer), fitting
        )
    return changes


def facts_of(request: ApprovalRequest) -> Facts:
    """Return the facts that scopes match."""
    return Facts(
        agent=request.agent,
        tool=request.tool_name,
        kind=request.kind,
        source=request.workflow.source,
        server=server_of(request.tool_name),
        requester=request.requested_by_id,
        on_behalf_of=request.on_behalf_of,
        priority=request.priority,
        input=request.input,
    )


@functools.lru_cache(maxsize=4)
def scopes_of(stamp: str) -> Scopes:
    """Return the existing scopes, cached per process by the `stamp` of `models.policy.scopes.stamp_of_scopes`."""
    return all_scopes()


def scopes_with_members() -> QuerySet[ApproverScope]:
    """Return all scopes with their people and teams, in the order of their names."""
    people = Prefetch("people", queryset=User.objects.order_by("username"))
    return ApproverScope.objects.prefetch_related(
        people, Prefetch("teams", queryset=Group.objects.order_by("name"))
    )


def all_scopes() -> Scopes:
    rows = ApproverScope.objects.order_by("pk").values_list("pk", "match")
    return Scopes([(pk, match_from(document)) for pk, document in rows])
