"""Store which approver scopes fit requests: of a new one when it is asked, of earlier ones after a scope was added.

A request that was not compared with a scope yet is not seen through it. Only those who ignore scopes see a request that was
compared with none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import CharField, Exists, Q, QuerySet

from approvals.db.canonical_json import digest
from approvals.db.prepared import Parameter, Prepared
from approvals.db.transactions import lock_name
from approvals.models import ApprovalRequest, ApproverScope, ScopeSet, ScopeSetMember, ScopeWalk
from approvals.policy.match import Facts
from approvals.queries.policy.scopes import Scopes, all_scopes, facts_of, scopes_of
from approvals.record.amounts import amount_at
from approvals.states import Status

#: Requests that are compared in one transaction.
BATCH = 200
#: The columns that a comparison reads.
_READ = ("pk", "workflow__source", "agent", "tool_name", "kind", "requested_by", "priority", "input", "amount_pointer",
         "created_at", "amount", "scoped_upto")  # fmt: skip


#: Held by whoever adds or deletes scopes, or makes a scope set of them.
LOCK = "approver scopes"


#: The scope set of these scopes, if it was made before.
_KNOWN: Prepared[tuple[int]] = Prepared(
    lambda: ScopeSet.objects.filter(digest=Parameter("digest", CharField())).values_list("pk")
)


@dataclass(frozen=True, slots=True)
class Place:
    """The scopes that fit a request: their scope set, None if none fits, of all scopes up to this id, None without any."""

    scope_set: int | None = None
    upto: int | None = None


#: Where a request is while there are no scopes.
NOWHERE = Place()


def place_of(facts: Facts, stamp: str) -> Place:
    """Return which scopes fit a request that is about to be stored, inside the transaction of its ask.

    `stamp` says which scopes there are (`models.policy.scopes.stamp_of_scopes`). In one statement, or in none if no scope fits.
    Scopes that fit together for the first time become a scope set.
    """
    scopes = scopes_of(stamp)
    return Place(_scope_set_of(scopes.fitting(facts)), scopes.upto)


def compare_earlier_requests() -> None:
    """Compare the requests from before the last scope with all scopes: those that wait first, then the latest ones."""
    while _compare_waiting() or _compare_next():
        pass


def uncompared() -> QuerySet[ApprovalRequest]:
    """Return the waiting requests that were not compared with every scope."""
    last = ApproverScope.objects.order_by("-pk").values("pk")[:1]
    behind = Q(scoped_upto=None) | Q(scoped_upto__lt=last)
    return ApprovalRequest.objects.filter(behind, Exists(ApproverScope.objects.all()), status=Status.PENDING)


def unfinished_walks() -> QuerySet[ScopeWalk]:
    return ScopeWalk.objects.filter(done=False)


def _compare_waiting() -> bool:
    """Compare some waiting requests; False if there are none."""
    with transaction.atomic():
        requests = list(_readable(uncompared().order_by("scoped_upto"))[:BATCH])
        if requests:
            _place(requests, all_scopes())
    return bool(requests)


def _compare_next() -> bool:
    """Compare the next requests of the walk; False if it is done, or if another process is at it."""
    with transaction.atomic():
        walk = unfinished_walks().select_for_update(skip_locked=True).first()
        if walk is None:
            return False
        requests = _readable(ApprovalRequest.objects.order_by("-created_at", "-id"))
        if walk.created_at is not None:
            older = Q(created_at__lt=walk.created_at) | Q(pk__lt=walk.request_id)
            requests = requests.filter(older, created_at__lte=walk.created_at)
        batch = list(requests[:BATCH])
        _place([request for request in batch if (request.scoped_upto or 0) < walk.upto], all_scopes())
        walk.done = len(batch) < BATCH
        if batch:
            walk.created_at, walk.request_id = batch[-1].created_at, batch[-1].pk
        walk.save()
    return not walk.done


def _readable(requests: QuerySet[ApprovalRequest]) -> QuerySet[ApprovalRequest]:
    return requests.select_related("workflow").only(*_READ)


def _place(requests: Sequence[ApprovalRequest], scopes: Scopes) -> None:
    by_scope_set: dict[int | None, list[ApprovalRequest]] = {}
    for request in requests:
        by_scope_set.setdefault(_scope_set_of(scopes.fitting(facts_of(request))), []).append(request)
    # A slower process must not put back what was stored by one that knows later scopes.
    behind = Q(scoped_upto=None) | Q(scoped_upto__lt=scopes.upto)
    for scope_set, same in by_scope_set.items():
        rows = ApprovalRequest.objects.filter(behind, pk__in=[request.pk for request in same])
        rows.update(scope_set=scope_set, scoped_upto=scopes.upto)
        for request in same:
            request.scope_set_id, request.scoped_upto = scope_set, scopes.upto
    _add_amounts([request for request in requests if request.amount is None])


def _add_amounts(requests: Sequence[ApprovalRequest]) -> None:
    """Store the amounts of requests from before there was a column for them."""
    for request in requests:
        request.amount = amount_at(request.input, request.amount_pointer)
    ApprovalRequest.objects.bulk_update([request for request in requests if request.amount is not None], ["amount"])


def _scope_set_of(scopes: Sequence[int]) -> int | None:
    """Return the scope set of these scopes, which is made on first use; None for no scopes."""
    if not scopes:
        return None
    key = digest(list(scopes))
    known = _KNOWN.first(digest=key)
    if known is not None:
        return known[0]
    lock_name(LOCK)
    # One that was deleted meanwhile counts for nothing.
    existing = list(ApproverScope.objects.filter(pk__in=scopes).order_by("pk").values_list("pk", flat=True))
    if existing != list(scopes):
        return _scope_set_of(existing)
    ScopeSet.objects.bulk_create([ScopeSet(digest=key)], ignore_conflicts=True)
    scope_set = ScopeSet.objects.get(digest=key).pk
    ScopeSetMember.objects.bulk_create(
        [ScopeSetMember(scope_set_id=scope_set, scope_id=scope) for scope in scopes], ignore_conflicts=True
    )
    return scope_set
