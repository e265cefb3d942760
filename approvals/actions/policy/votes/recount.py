"""Recount the votes on waiting requests after a change of rights to decide: people, teams, rights, scopes or absences.

A change only adds a row, in its own transaction. The sweep counts, in batches and in one process at a time; after a kill, the
next process continues. Nothing is decided from a batch: a request whose votes are in is locked, counted once more, and ended on
the path of all decisions.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from approvals.actions.decisions.facts import read_ballot
from approvals.actions.expiring import expire_if_overdue
from approvals.actions.locking import LockedRequest, lock_free_requests, lock_request
from approvals.actions.policy.scope_index import uncompared
from approvals.actions.policy.votes import cast
from approvals.actions.policy.votes.outcome import ending_of
from approvals.db.literal import literal
from approvals.db.pool import AWAY, is_locked
from approvals.models import ApprovalRequest, Vote, VoteRecount
from approvals.policy.terms import terms_of
from approvals.policy.votes import count
from approvals.queries.policy.votes.ballots import (
    casts_of,
    votes_by_request,
)
from approvals.queries.policy.votes.electorate import electorates_of
from approvals.states import Status

logger = logging.getLogger(__name__)

#: Requests per batch.
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
    """Request a recount of all pending requests, in the transaction of the change that requires it."""
    VoteRecount.objects.create()


def due_recounts() -> QuerySet[VoteRecount]:
    """Return the changes that were not counted yet, once all pending requests were compared with the scopes."""
    return VoteRecount.objects.filter(~Exists(uncompared()))


def recount_votes() -> None:
    """Recount the votes on all pending requests, oldest first, and end the requests that they decide.

    A request that cannot be ended now holds up no others: it is counted again with the rest, a second later. Two processes never
    count at the same time: each would find the requests of a batch locked by the other, and process them one by one.
    """
    last = VoteRecount.objects.order_by("-pk").values_list("pk", flat=True).first()
    while (
        recount := due_recounts().filter(pk__lte=last or 0).order_by("pk").first()
    ) is not None:
        if recount.answers is None:
            _begin(recount)
            continue
        batch = _count_next(recount)
        if batch is None:
            return
        failed = [
            request_id for request_id in batch.settled if not _is_settled(request_id)
        ]
        if failed:
            # Before the progress is stored: after a kill here, too much is counted, never too little.
            ask_for_recount()
        _mark(recount, batch)


def _begin(recount: VoteRecount) -> None:
    """Make a count that starts now cover every change committed before it."""
    answers = list(VoteRecount.objects.order_by("pk").values_list("pk", flat=True))
    VoteRecount.objects.filter(pk=recount.pk, answers__isnull=True).update(
        answers=answers
    )


def _count_next(recount: VoteRecount) -> _Batch | None:
    """Count the next requests under their locks, so that no vote falls between the read and a change of voters. Return None if
    another process is counting.
    """
    voted = Exists(Vote.objects.filter(request=OuterRef("pk")))
    waiting = ApprovalRequest.objects.filter(voted, status=literal(Status.PENDING))
    if recount.counted_created_at is not None:
        later = Q(created_at__gt=recount.counted_created_at) | Q(
            pk__gt=recount.counted_id
        )
        waiting = waiting.filter(later, created_at__gte=recount.counted_created_at)
    with transaction.atomic():
        if not VoteRecount.objects.select_for_update(skip_locked=True).filter(
            pk=recount.pk
        ):
            return None
        rows = list(
            waiting.order_by("created_at", "id").values_list("pk", "created_at")[:BATCH]
        )
        requests = lock_free_requests([pk for pk, _at in rows])
        terms = {
            request: terms_of(request.terms)
            for request in requests
            if request.takes_votes
        }
        votes = votes_by_request(request.pk for request in terms)
        electorates = electorates_of(terms, votes)
        undecided = {
            request.pk
            for request, of_request in terms.items()
            if count(
                of_request,
                casts_of(votes[request.pk]),
                electorates[request.pk],
                request.voted_digest,
            ).standing
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
        logger.exception(
            "The votes on request %s could not be counted; it will be tried again",
            request_id,
        )
        return False
    return True


def _settle(request_id: UUID) -> None:
    """End a request that its votes decide, judged under its lock."""
    with transaction.atomic():
        locked = lock_request(request_id)
        if locked is None or not locked.request.pending or expire_if_overdue(locked):
            return
        # Through a scope that it was not compared with yet, no one may vote; that scope has requested a count of its own.
        if not uncompared().filter(pk=request_id).exists():
            _end_if_decided(locked)


def _end_if_decided(locked: LockedRequest) -> None:
    """End a locked request if its votes decide it now."""
    request = locked.request
    ending = ending_of(request, read_ballot(request)) if request.takes_votes else None
    if ending is not None:
        cast.end_by_votes(locked, ending)


def _mark(recount: VoteRecount, batch: _Batch) -> None:
    """Store the progress of the count, unless another process has counted the same meanwhile."""
    same = VoteRecount.objects.filter(
        pk=recount.pk,
        counted_created_at=recount.counted_created_at,
        counted_id=recount.counted_id,
    )
    if not batch.is_last:
        request_id, created_at = batch.requests[-1]
        same.update(counted_created_at=created_at, counted_id=request_id)
    elif same.exists():
        VoteRecount.objects.filter(pk__in=recount.answers or ()).delete()
