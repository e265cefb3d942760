"""Count the votes on waiting requests anew after a change of who may decide: people, teams, rights, scopes or absences.

A change only adds a row, in its own transaction. The sweep counts, in batches, in one process at a time: what was not counted
when a process was killed is counted by the next one. Nothing is decided from a batch: a request whose votes are in is locked,
counted once more, and ended on the path of all decisions.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from approvals.actions import voting
from approvals.actions.expiring import expire_if_overdue
from approvals.actions.locking import lock_free_requests, lock_request
from approvals.actions.policy.scoping import uncompared
from approvals.db.literal import literal
from approvals.db.pool import AWAY, is_locked
from approvals.models import ApprovalRequest, Vote, VoteRecount
from approvals.policy.terms import terms_of
from approvals.policy.votes import count
from approvals.queries.policy.ballots import casts_of, takes_votes, votes_by_request
from approvals.queries.policy.electorate import electorates_of
from approvals.states import Status

logger = logging.getLogger(__name__)

#: Requests that are counted together.
BATCH = 100


@dataclass(frozen=True, slots=True)
class _Batch:
    """The next requests of a count, in order; `settled` are those to lock: decided by their votes, or locked by others."""

    requests: Sequence[tuple[UUID, datetime]]
    settled: Sequence[UUID]

    @property
    def is_last(self) -> bool:
        return len(self.requests) < BATCH


def ask_for_recount() -> None:
    """Have the votes on all that waits counted anew, in the transaction of the change that makes it necessary."""
    VoteRecount.objects.create()


def due_recounts() -> QuerySet[VoteRecount]:
    """Return the changes after which nothing was counted yet, once all that waits was compared with the scopes."""
    return VoteRecount.objects.filter(~Exists(uncompared()))


def recount_votes() -> None:
    """Count the votes on everything that waits anew, oldest first, and end the requests that they decide.

    A request that cannot be ended now holds up no others: it is counted again with everything else, a second later. Nor do two
    processes count at the same time: each would find the requests of a batch locked by the other, and look at them one by one.
    """
    last = VoteRecount.objects.order_by("-pk").values_list("pk", flat=True).first()
    while (recount := due_recounts().filter(pk__lte=last or 0).order_by("pk").first()) is not None:
        if recount.answers is None:
            _begin(recount)
            continue
        batch = _count_next(recount)
        if batch is None:
            return
        failed = [request_id for request_id in batch.settled if not _is_settled(request_id)]
        if failed:
            # Before how far the count is: a process that is killed here counts too much, and never too little.
            ask_for_recount()
        _mark(recount, batch)


def _begin(recount: VoteRecount) -> None:
    """Let a count that begins now answer for every change that was committed before it."""
    answers = list(VoteRecount.objects.order_by("pk").values_list("pk", flat=True))
    VoteRecount.objects.filter(pk=recount.pk, answers__isnull=True).update(answers=answers)


def _count_next(recount: VoteRecount) -> _Batch | None:
    """Count the next requests under their locks, so that no vote is between what is read and a change of who may vote. Return
    None if another process counts now.
    """
    voted = Exists(Vote.objects.filter(request=OuterRef("pk")))
    waiting = ApprovalRequest.objects.filter(voted, status=literal(Status.PENDING))
    if recount.counted_created_at is not None:
        later = Q(created_at__gt=recount.counted_created_at) | Q(pk__gt=recount.counted_id)
        waiting = waiting.filter(later, created_at__gte=recount.counted_created_at)
    with transaction.atomic():
        if not VoteRecount.objects.select_for_update(skip_locked=True).filter(pk=recount.pk):
            return None
        rows = list(waiting.order_by("created_at", "id").values_list("pk", "created_at")[:BATCH])
        requests = lock_free_requests([pk for pk, _at in rows])
        terms = {request: terms_of(request.terms) for request in requests if takes_votes(request)}
        votes = votes_by_request(request.pk for request in terms)
        electorates = electorates_of(terms, votes)
        undecided = {
            request.pk
            for request, of_request in terms.items()
            if count(of_request, casts_of(votes[request.pk]), electorates[request.pk], request.voted_digest).standing
            == Status.PENDING
        }
    return _Batch(rows, [pk for pk, _at in rows if pk not in undecided])


def _is_settled(request_id: UUID) -> bool:
    try:
        _settle(request_id)
    except AWAY as error:
        if not is_locked(error):
            raise
        return False
    except Exception:
        logger.exception("The votes on request %s could not be counted; it will be tried again", request_id)
        return False
    return True


def _settle(request_id: UUID) -> None:
    """End a request that its votes decide, as it is under its lock."""
    with transaction.atomic():
        locked = lock_request(request_id)
        if locked is None or not locked.request.pending or expire_if_overdue(locked):
            return
        # Through a scope with which it was not compared yet, no one may vote; that scope has asked for a count of its own.
        if not uncompared().filter(pk=request_id).exists():
            voting.end_if_decided(locked)


def _mark(recount: VoteRecount, batch: _Batch) -> None:
    """Store how far the count is, unless another process has counted the same meanwhile."""
    same = VoteRecount.objects.filter(
        pk=recount.pk, counted_created_at=recount.counted_created_at, counted_id=recount.counted_id
    )
    if not batch.is_last:
        request_id, created_at = batch.requests[-1]
        same.update(counted_created_at=created_at, counted_id=request_id)
    elif same.exists():
        VoteRecount.objects.filter(pk__in=recount.answers or ()).delete()
