"""Who is at a request: taken, given back, handed over. A courtesy among people: the deadline and every decision go before it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.assignees import LAPSES, assignee_name, claimant
from approvals.access.permissions import Named
from approvals.actions.deciding import clock_of, expire, locked
from approvals.actions.publishing import handled
from approvals.exceptions import AlreadyDecided, CannotBeAssigned, Expired, NotAllowed, NotFound, Taken
from approvals.models import ApprovalRequest
from approvals.models.actors import Actor
from approvals.outbound import outbox
from approvals.states import Door, Verdict


def claim(request_id: UUID, *, by: Actor, via: Door, over: str = "") -> ApprovalRequest:
    """Take a request. `over` names who is seen to have it, where it is to be taken over.

    Taking what one has already keeps it for another while. NotFound, NotAllowed, Taken (somebody else has it, or has
    taken it over meanwhile), AlreadyDecided, Expired.
    """
    with transaction.atomic():
        request = _locked_for(by, request_id)
        if request.pending:
            _may_handle(by, request)
            held = claimant(request, clock_of(request))
            if held == by.pk:
                return _touched(request, claimed_name=by.get_username(), claimed_at=clock_of(request))
            name = request.claimed_name if held is not None else ""
            if name and name != over:
                raise _taken(
                    _("This request is assigned to %(name)s. To take over, assign it to yourself.") % {"name": name},
                    request,
                    claimed_by=name,
                )
            _touched(request, claimed_by_id=by.pk, claimed_name=by.get_username(), claimed_at=clock_of(request))
            handled("request.claimed", request, record={"over": name or None}, actor=by, via=via)
            return request
    raise _too_late(request)


def release(request_id: UUID, *, by: Actor, via: Door) -> ApprovalRequest:
    """Give back what one has taken; where nobody has it (any more), nothing changes. Errors as for `claim`."""
    with transaction.atomic():
        request = _locked_for(by, request_id)
        if request.pending:
            held = claimant(request, clock_of(request))
            if held is not None and held != by.pk:
                words = _("This request is assigned to %(name)s, and only they can unassign it.") % {
                    "name": request.claimed_name
                }
                raise _taken(words, request, claimed_by=request.claimed_name)
            if held is not None:
                _free(request)
                handled("request.released", request, record={"of": by.get_username()}, actor=by, via=via)
            else:
                _may_handle(by, request)
            return request
    raise _too_late(request)


def assign(request_id: UUID, *, by: Actor, via: Door, to: Named | None, instead_of: str = "") -> ApprovalRequest:
    """Hand a request to a person, or back to all (None); `instead_of` names to whom it is seen to be assigned.

    The person is told, and may see it from now on, and answer it where it is a question or a form; the right to decide
    an approval they must have already. CannotBeAssigned; other errors as for `claim`.
    """
    with transaction.atomic():
        request = _locked_for(by, request_id)
        if request.pending:
            _may_handle(by, request)
            if to is not None and not permissions.may_be_assigned(to, request.kind):
                raise CannotBeAssigned("to")
            before, name = request.assigned_to, assignee_name(request)
            if (to.pk if to else None) == request.assigned_to_id:
                return request
            if name != instead_of:
                words = _("The assignee has changed: this request is now unassigned.")
                if name:
                    words = _("The assignee has changed: this request is now assigned to %(name)s.") % {"name": name}
                raise _taken(words, request, claimed_by=request.claimed_name)
            _touched(request, assigned_to=to)
            if request.claimed_by_id is not None and to is not None and request.claimed_by_id != to.pk:
                _free(request)
            record = {"to": to.get_username() if to else None, "from": name or None}
            left = before.pk if before else None
            handled("request.assigned", request, record=record, actor=by, via=via, people=[left])
            if to is not None and to.pk != by.pk:
                outbox.tell_person("request.assigned", request, to)
            return request
    raise _too_late(request)


def free_lapsed(request_id: UUID) -> bool:
    """Take off who took a request and left it alone; False if there is nobody to be taken off."""
    with transaction.atomic():
        request = locked(request_id, waits=False)
        if request is None or not request.pending or request.claimed_at is None:
            return False
        if request.claimed_at > clock_of(request) - LAPSES:
            return False
        record = {"of": request.claimed_name}
        _free(request)
        handled("request.released", request, record=record, actor=None, via=Door.SYSTEM)
    return True


def _locked_for(by: Actor, request_id: UUID) -> ApprovalRequest:
    """The request under its lock, ended by its deadline where that has passed. NotFound."""
    expire(request_id)
    request = locked(request_id)
    if request is None or not permissions.may_see(by, request):
        raise NotFound
    return request


def _may_handle(by: Actor, request: ApprovalRequest) -> None:
    if not permissions.may_close(by, request):
        raise NotAllowed(_("You can see this request, but you cannot decide or assign it."))


def _free(request: ApprovalRequest) -> None:
    _touched(request, claimed_by_id=None, claimed_name="", claimed_at=None)


def _touched(request: ApprovalRequest, **changes: Any) -> ApprovalRequest:
    """Write who is at a request; the caller holds its lock."""
    changes["touched_at"] = timezone.now()
    ApprovalRequest.objects.filter(pk=request.pk).update(**changes)
    for name, value in changes.items():
        setattr(request, name, value)
    return request


def _taken(words: str, request: ApprovalRequest, *, claimed_by: str) -> Taken:
    return Taken(words, claimed_by=claimed_by, assigned_to=assignee_name(request))


def _too_late(request: ApprovalRequest) -> AlreadyDecided | Expired:
    too_late = Expired if request.decision.verdict == Verdict.EXPIRE else AlreadyDecided
    return too_late(request.decision)
