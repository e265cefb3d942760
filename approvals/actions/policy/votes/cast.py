"""Store a vote on a locked request, and end a request with its votes."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import UUIDField
from django.utils import timezone

from approvals.actions.ending import end_request
from approvals.actions.locking import LockedRequest
from approvals.actions.policy.outcomes import Ending, Voted
from approvals.actions.publishing import hidden_record, publish_event
from approvals.asking.answers import ABSENT
from approvals.db.many import any_of
from approvals.db.prepared import Parameter
from approvals.db.prepared_writes import Update
from approvals.models import ApprovalRequest, Decision, Vote
from approvals.models.actors import Actor, recorded_account
from approvals.outbound.mentions import notify_of_lone_decision
from approvals.policy.terms import terms_of
from approvals.queries.policy.votes.electorate import delegates_for, electorate_of
from approvals.states import Door, Status

#: Stores the time of a vote, and the proposal, in a pending request.
_VOTED = Update(
    lambda: ApprovalRequest.objects.filter(
        pk=Parameter("pk", UUIDField()), status=Status.PENDING
    ),
    "changed_at",
    "proposal",
)


def write_vote(
    locked: LockedRequest, voted: Voted, *, by: Actor, via: Door
) -> Decision | None:
    """Store a vote, and end the request if this vote decides it.

    Writes the vote; the request, with its time and proposal; the entry and the event; and the ending.
    """
    _store(locked, voted, by=by, via=via)
    return None if voted.ending is None else end_by_votes(locked, voted.ending)


def end_by_votes(locked: LockedRequest, ending: Ending) -> Decision:
    """End a request by its votes: mark those that have counted, and then write everything that `end_request` does."""
    stored = Vote.objects.filter(request=locked.request.pk)
    stored.filter(person_id__in=ending.voters).update(counted=True)
    stored.exclude(person_id__in=ending.voters).update(counted=False)
    return end_request(
        locked,
        ending.answer,
        by=ending.by,
        via=ending.via,
        absent=ending.absent,
        recounted=ending.recounted,
    )


def tell_of_lone_decision(request: ApprovalRequest, *, by: Actor) -> None:
    """Notify everyone concerned that one person has decided: the requester, the owner of the work, and all voters."""
    electorate = electorate_of(request, terms_of(request.terms), request.proposal)
    voters = set[int]().union(
        *(group for groups in electorate.stages for group in groups)
    )
    concerned = (
        voters
        | delegates_for(request, voters)
        | {request.requested_by_id, request.workflow.owner_id}
    )
    people = User.objects.filter(
        pk__in=any_of(concerned - {by.pk}, int), is_active=True
    ).order_by("pk")
    notify_of_lone_decision(request, list(people), by=by.get_username())


def _store(locked: LockedRequest, voted: Voted, *, by: Actor, via: Door) -> None:
    request = locked.request
    vote = voted.vote.row
    answer = voted.answer
    vote.voted_at = timezone.now()
    vote.save(force_insert=vote.pk is None, force_update=vote.pk is not None)
    request.changed_at = vote.voted_at
    request.proposal = voted.vote.proposal
    _VOTED.run(pk=request.pk, changed_at=vote.voted_at, proposal=request.proposal)
    record = {
        "verdict": str(answer.verdict),
        "comment": vote.comment,
        "edited_input": None if answer.edited_input is ABSENT else answer.edited_input,
        "input_digest": vote.digest,
        "stage": vote.stage + 1,
    }
    record |= {"for": vote.for_name} if vote.for_name is not None else {}
    record |= recorded_account(by)
    record |= hidden_record(request) | (
        {"unseen": answer.unseen} if answer.unseen else {}
    )
    at = vote.voted_at
    calls = voted.calls
    publish_event(
        "request.voted",
        request,
        locked.workflow,
        record=record,
        actor=by,
        via=via,
        at=at,
        calls=calls,
    )
