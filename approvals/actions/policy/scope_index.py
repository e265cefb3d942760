"""Store the approver scopes that match requests: for a new request when it is made, for existing ones after a scope is added.

A scope does not show a request that was not compared with it yet. A request compared with no scope is visible only to people who
ignore scopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import CharField, Exists, Q, QuerySet

from approvals.actions.channels.cards import look_again
from approvals.db.canonical_json import digest
from approvals.db.prepared import Parameter, Prepared
from approvals.db.transactions import lock_name
from approvals.models import (
    ApprovalRequest,
    ApproverScope,
    ScopeSet,
    ScopeSetMember,
    ScopeWalk,
)
from approvals.policy.match import Facts
from approvals.queries.policy.scopes.matching import (
    Scopes,
    all_scopes,
    facts_of,
    scopes_of,
)
from approvals.states import Status

#: Requests compared in one transaction.
BATCH = 200
#: The columns needed for a comparison.
_READ = ("pk", "workflow__source", "agent", "tool_name", "kind", "requested_by", "on_behalf_of", "priority", "input",
         "amount_pointer", "created_at", "amount", "scoped_upto")  # fmt: skip


#: Lock for adding and deleting scopes, and for creating scope sets.
LOCK = "approver scopes"


#: The scope set of these scopes, if it exists.
_KNOWN: Prepared[tuple[int]] = Prepared(
    lambda: ScopeSet.objects.filter(
        digest=Parameter("digest", CharField())
    ).values_list("pk")
)


@dataclass(frozen=True, slots=True)
class Place:
    """The matching scopes of a request: their scope set (None if none matches), of all scopes up to this id (None if none)."""

    scope_set: int | None = None
    upto: int | None = None


#: The place of a request while there are no scopes.
NOWHERE = Place()


def place_of(facts: Facts, stamp: str) -> Place:
    """Return the matching scopes of a request about to be stored, inside the transaction of its ask.

    `stamp` identifies the set of existing scopes (`models.policy.scopes.stamp_of_scopes`). Takes one statement, or none if no
    scope matches. Scopes that match together for the first time become a scope set.
    """
    scopes = scopes_of(stamp)
    return Place(_scope_set_of(scopes.fitting(facts)), scopes.upto)


def compare_earlier_requests() -> None:
    """Compare requests older than the last scope with all scopes: pending ones first, then the latest ones."""
    while _compare_waiting() or _compare_next():
        pass
    look_again()


def uncompared() -> QuerySet[ApprovalRequest]:
    """Return the pending requests that were not compared with every scope."""
    last = ApproverScope.objects.order_by("-pk").values("pk")[:1]
    behind = Q(scoped_upto=None) | Q(scoped_upto__lt=last)
    return ApprovalRequest.objects.filter(
        behind, Exists(ApproverScope.objects.all()), status=Status.PENDING
    )


def unfinished_walks() -> QuerySet[ScopeWalk]:
    return ScopeWalk.objects.filter(done=False)


def _compare_waiting() -> bool:
    """Compare some pending requests; return False if there are none."""
    with transaction.atomic():
        requests = list(_readable(uncompared().order_by("scoped_upto"))[:BATCH])
        if requests:
            _place(requests, all_scopes())
    return bool(requests)


def _compare_next() -> bool:
    """Compare the next requests of the walk; return False if it is done, or if another process does it."""
    with transaction.atomic():
        walk = unfinished_walks().select_for_update(skip_locked=True).first()
        if walk is None:
            return False
        requests = _readable(ApprovalRequest.objects.order_by("-created_at", "-id"))
        if walk.created_at is not None:
            older = Q(created_at__lt=walk.created_at) | Q(pk__lt=walk.request_id)
            requests = requests.filter(older, created_at__lte=walk.created_at)
        batch = list(requests[:BATCH])
        _place(
            [request for request in batch if (request.scoped_upto or 0) < walk.upto],
            all_scopes(),
        )
        walk.done = len(batch) < BATCH
        if batch:
            walk.created_at = batch[-1].created_at
            walk.request_id = batch[-1].pk
        walk.save()
    return not walk.done


def _readable(requests: QuerySet[ApprovalRequest]) -> QuerySet[ApprovalRequest]:
    return requests.select_related("workflow").only(*_READ)


def _place(requests: Sequence[ApprovalRequest], scopes: Scopes) -> None:
    by_scope_set: dict[int | None, list[ApprovalRequest]] = {}
    for request in requests:
        by_scope_set.setdefault(
            _scope_set_of(scopes.fitting(facts_of(request))), []
        ).append(request)
    # A slower process must not overwrite the result of one that knows later scopes.
    behind = Q(scoped_upto=None) | Q(scoped_upto__lt=scopes.upto)
    for scope_set, same in by_scope_set.items():
        rows = ApprovalRequest.objects.filter(
            behind, pk__in=[request.pk for request in same]
        )
        rows.update(scope_set=scope_set, scoped_upto=scopes.upto)
        for request in same:
            request.scope_set_id = scope_set
            request.scoped_upto = scopes.upto


def _scope_set_of(scopes: Sequence[int]) -> int | None:
    """Return the scope set of these scopes, created on first use; None for no scopes."""
    if not scopes:
        return None
    key = digest(list(scopes))
    known = _KNOWN.first(digest=key)
    if known is not None:
        return known[0]
    lock_name(LOCK)
    # A scope deleted meanwhile counts for nothing.
    existing = list(
        ApproverScope.objects.filter(pk__in=scopes)
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    if existing != list(scopes):
        return _scope_set_of(existing)
    ScopeSet.objects.bulk_create([ScopeSet(digest=key)], ignore_conflicts=True)
    scope_set = ScopeSet.objects.get(digest=key).pk
    ScopeSetMember.objects.bulk_create(
        [ScopeSetMember(scope_set_id=scope_set, scope_id=scope) for scope in scopes],
        ignore_conflicts=True,
    )
    return scope_set
