"""Add a program's advice to a request. It never decides, and lowers nothing.

Advice can raise the priority and the number of people who have to approve.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.callers import KEY_SCOPE
from approvals.actions import checking, rows
from approvals.actions.expiring import expire_if_overdue
from approvals.actions.lists.snoozing import end_snoozes
from approvals.actions.locking import LockedRequest, lock_visible_request
from approvals.actions.publishing import publish_event
from approvals.asking.asks import URGENCY
from approvals.db.canonical_json import clean_text
from approvals.db.prepared_writes import write_together
from approvals.exceptions import Conflict, Invalid, NotAllowed
from approvals.models import Advice, ApprovalRequest
from approvals.models.actors import Actor, KeyActor
from approvals.models.attention import (
    MAX_ADVICE,
    MAX_ALL_MORE_VOTES,
    MAX_MORE_VOTES,
    MAX_TEXT,
)
from approvals.policy.terms import terms_of, with_more_votes
from approvals.queries.attention.advice import advice_on
from approvals.queries.policy.votes.ballots import enough_may_vote
from approvals.states import ASKS, Door, Hint, Priority
from approvals.text.numbers import grouped


@dataclass(frozen=True, slots=True)
class Advised:
    """Stored advice; `replayed` if the same key has already given exactly this."""

    advice: Advice
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """A program's advice: the least priority of the request, and the number of additional votes."""

    hint: Hint
    text: str
    raise_priority: Priority | None = None
    more_votes: int | None = None


def advise(request_id: UUID, new: Recommendation, *, by: Actor, via: Door) -> Advised:
    """Add advice to a waiting request; raise its priority and its votes as advised.

    Raise NotFound, NotAllowed (not a key, or the key of the request), Invalid, Conflict (the request has MAX_ADVICE already, or
    cannot need more votes), AlreadyDecided or Expired.
    """
    new = replace(new, text=clean_text(new.text.strip()))
    if not isinstance(by, KeyActor):
        raise NotAllowed(
            _(
                "Only programs with an API key can give advice. People write internal notes."
            )
        )
    if errors := _errors(new):
        raise Invalid(_("The advice could not be saved."), errors)
    with transaction.atomic():
        locked = lock_visible_request(request_id, by)
        request = locked.request
        if request.scope == f"{KEY_SCOPE}{by.key.pk}":
            raise NotAllowed(
                _(
                    "A key cannot advise on its own request. Use a separate key for the reviewer."
                )
            )
        known = _same(request, by, new)
        if known is not None:
            return Advised(known, replayed=True)
        if request.pending and not expire_if_overdue(locked):
            return Advised(_store(locked, by, via, new))
    # Outside the transaction, so that an expiry that was just written stays.
    raise checking.too_late(request.decision)


def _errors(new: Recommendation) -> dict[str, str]:
    errors = {}
    if not new.text or len(new.text) > MAX_TEXT:
        limit = {"most": grouped(MAX_TEXT)}
        errors["text"] = (
            _("is longer than %(most)s characters") % limit
            if new.text
            else _("is empty")
        )
    if new.more_votes is not None and not 1 <= new.more_votes <= MAX_MORE_VOTES:
        errors["more_votes"] = _("must be a number from 1 to %(most)s") % {
            "most": MAX_MORE_VOTES
        }
    return errors


def _same(request: ApprovalRequest, by: KeyActor, new: Recommendation) -> Advice | None:
    """Return this key's earlier advice if it was the same."""
    if not request.advised:
        return None
    known = Advice.objects.filter(
        request_id=request.pk,
        key_id=by.key.pk,
        hint=new.hint,
        priority=new.raise_priority or "",
        more_votes=new.more_votes,
    )
    return next(
        (advice for advice in known.order_by("id") if advice.text == new.text), None
    )


def _store(
    locked: LockedRequest, by: KeyActor, via: Door, new: Recommendation
) -> Advice:
    request = locked.request
    now = timezone.now()
    count = (request.advised or 0) + 1
    if count > MAX_ADVICE:
        message = _(
            "This request already has %(most)s pieces of advice, which is the maximum."
        ) % {"most": MAX_ADVICE}
        raise Conflict(message, str(request.pk))
    before = request.priority
    priority = new.raise_priority
    raises = priority is not None and URGENCY[priority] < request.urgency
    changes: dict[str, object] = {"advised": count}
    record: dict[str, object] = {"hint": new.hint, "text": new.text}
    if new.more_votes is not None:
        changes |= _need_more_votes(request, by, new.more_votes, now)
        record |= {"more_votes": new.more_votes}
    if raises and priority is not None:
        changes |= _raise(locked, priority, now)
        record |= {"priority": priority, "priority_before": before}
        end_snoozes(request, by=by)
    advice = Advice.objects.create(
        request_id=request.pk,
        by_id=by.pk,
        by_name=by.get_username(),
        key_id=by.key.pk,
        hint=new.hint,
        text=new.text,
        priority=priority or "",
        raised_from=before if raises else "",
        more_votes=new.more_votes,
        at=now,
    )
    request.advised = count
    ApprovalRequest.objects.filter(pk=request.pk).update(**changes)
    record = {"advice_id": advice.pk} | record
    publish_event(
        "request.advised",
        request,
        locked.workflow,
        record=record,
        actor=by,
        via=via,
        at=now,
    )
    return advice


def _need_more_votes(
    request: ApprovalRequest, by: KeyActor, more: int, now: datetime
) -> dict[str, object]:
    """Raise the votes that the locked request needs; return the changes of its row. Votes already given still count.

    Raise Conflict if too few people could approve it then: advice must not reject it.
    """
    if request.kind in ASKS:
        raise Conflict(
            _(
                "Only approvals can need more votes. This request is answered by one person."
            ),
            str(request.pk),
        )
    earlier = {
        advice.by_id: advice.more_votes
        for advice in advice_on(request)
        if advice.more_votes
    }
    if by.pk in earlier:
        raise Conflict(
            _("You have already asked for more votes on this request."), str(request.pk)
        )
    if sum(earlier.values()) + more > MAX_ALL_MORE_VOTES:
        message = _("Advice can add at most %(most)s votes to a request.") % {
            "most": MAX_ALL_MORE_VOTES
        }
        raise Conflict(message, str(request.pk))
    terms = with_more_votes(terms_of(request.terms), more)
    if not enough_may_vote(request, terms):
        raise Conflict(
            _("Not enough people may approve this request for that many votes."),
            str(request.pk),
        )
    changes: dict[str, object] = {"terms": terms.document(), "changed_at": now}
    for name, value in changes.items():
        setattr(request, name, value)
    return changes


def _raise(
    locked: LockedRequest, priority: Priority, now: datetime
) -> dict[str, object]:
    """Raise the priority of the locked request, and the urgency of its workflow; return the changes of its row."""
    request = locked.request
    workflow = locked.workflow
    changes: dict[str, object] = {
        "priority": priority,
        "urgency": URGENCY[priority],
        "changed_at": now,
    }
    # The policy applies to the original priority.
    changes["asked_priority"] = request.asked_priority or request.priority
    for name, value in changes.items():
        setattr(request, name, value)
    workflow.urgency = min(
        request.urgency,
        request.urgency if workflow.urgency is None else workflow.urgency,
    )
    write_together([rows.counted(workflow)])
    return changes
