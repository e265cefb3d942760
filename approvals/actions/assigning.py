"""Claim, release and assign requests. These only help people coordinate: the deadline and every decision override them."""

from __future__ import annotations

from typing import Any, TypeGuard
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.assignees import assignee_name
from approvals.access.standing import standing_of
from approvals.actions.checking import too_late
from approvals.actions.expiring import expire_if_overdue
from approvals.actions.lists.snoozing import end_snoozes
from approvals.actions.locking import LockedFor, lock_request, lock_visible_request
from approvals.actions.publishing import publish_handling
from approvals.exceptions import AssignedMeanwhile, CannotBeAssigned, NotAllowed
from approvals.models import ApprovalRequest
from approvals.models.actors import Actor
from approvals.outbound.recipients import notify_assignee
from approvals.states import Door


def claim(request_id: UUID, *, by: Actor, via: Door, over: str = "") -> ApprovalRequest:
    """Assign a request to oneself for a while; repeating it prolongs the claim. Return the request.

    To take over a claim, `over` names the displayed claimant. Raise NotFound, NotAllowed, Taken (someone else has it by now),
    AlreadyDecided or Expired.
    """
    with transaction.atomic():
        locked = _lock(request_id, by)
        request = locked.request
        if request.pending:
            _check_may_handle(locked)
            if locked.claimed_by_id == by.pk:
                return _touch(
                    request, claimed_name=by.get_username(), claimed_at=locked.now
                )
            name = request.claimed_name if locked.claimed_by_id is not None else ""
            if name and name != over:
                raise _taken(
                    _(
                        "This request is assigned to %(name)s. To take over, assign it to yourself."
                    )
                    % {"name": name},
                    request,
                    claimed_by=name,
                )
            _touch(
                request,
                claimed_by_id=by.pk,
                claimed_name=by.get_username(),
                claimed_at=locked.now,
            )
            publish_handling(
                "request.claimed",
                request,
                record={"over": name or None},
                actor=by,
                via=via,
            )
            return request
    raise too_late(request.decision)


def release(request_id: UUID, *, by: Actor, via: Door) -> ApprovalRequest:
    """Release one's claim; nothing changes if there is no claim. Raises like `claim`."""
    with transaction.atomic():
        locked = _lock(request_id, by)
        request = locked.request
        if request.pending:
            if locked.claimed_by_id is None:
                _check_may_handle(locked)
                return request
            if locked.claimed_by_id != by.pk:
                message = _(
                    "This request is assigned to %(name)s, and only they can unassign it."
                ) % {"name": request.claimed_name}
                raise _taken(message, request, claimed_by=request.claimed_name)
            _free(request)
            publish_handling(
                "request.released",
                request,
                record={"of": by.get_username()},
                actor=by,
                via=via,
            )
            return request
    raise too_late(request.decision)


def assign(
    request_id: UUID,
    *,
    by: Actor,
    via: Door,
    to: User | AnonymousUser | None,
    instead_of: str = "",
) -> ApprovalRequest:
    """Assign a request to a person, or to no one (None). Return the request.

    `instead_of` names the displayed assignee. The new assignee is notified, may see the request from now on, and may answer a
    question or form; to decide an approval, they must already have the right. Raise CannotBeAssigned, or raise like `claim`.
    """
    with transaction.atomic():
        locked = _lock(request_id, by)
        request = locked.request
        if request.pending:
            _check_may_handle(locked)
            if to is not None and not _may_be_assigned(to, request):
                raise CannotBeAssigned("to")
            before = request.assigned_to
            name = assignee_name(request)
            if (to.pk if to else None) == request.assigned_to_id:
                return request
            if name != instead_of:
                message = _("The assignee has changed: this request is now unassigned.")
                if name:
                    message = _(
                        "The assignee has changed: this request is now assigned to %(name)s."
                    ) % {"name": name}
                raise _taken(message, request, claimed_by=request.claimed_name)
            _touch(request, assigned_to=to)
            end_snoozes(request, by=by)
            if (
                request.claimed_by_id is not None
                and to is not None
                and request.claimed_by_id != to.pk
            ):
                _free(request)
            record = {"to": to.get_username() if to else None, "from": name or None}
            previous = before.pk if before else None
            publish_handling(
                "request.assigned",
                request,
                record=record,
                actor=by,
                via=via,
                people=[previous],
            )
            if to is not None and to.pk != by.pk:
                notify_assignee(request, to)
            return request
    raise too_late(request.decision)


def free_lapsed(request_id: UUID) -> bool:
    """End a lapsed claim; return False if there is none."""
    with transaction.atomic():
        locked = lock_request(request_id, wait=False)
        if locked is None or not locked.claim_lapsed:
            return False
        request = locked.request
        record = {"of": request.claimed_name}
        _free(request)
        publish_handling(
            "request.released", request, record=record, actor=None, via=Door.SYSTEM
        )
    return True


def _lock(request_id: UUID, by: Actor) -> LockedFor:
    """Lock a request that this person may see, and expire it if it is overdue. Raise NotFound."""
    locked = lock_visible_request(request_id, by)
    expire_if_overdue(locked)
    return locked


def _check_may_handle(locked: LockedFor) -> None:
    if not permissions.may_close(locked.standing, locked.request):
        raise NotAllowed(
            _("You can see this request, but you cannot decide or assign it.")
        )


def _may_be_assigned(
    to: User | AnonymousUser, request: ApprovalRequest
) -> TypeGuard[User]:
    return permissions.may_be_assigned(standing_of(to), request)


def _free(request: ApprovalRequest) -> None:
    _touch(request, claimed_by_id=None, claimed_name="", claimed_at=None)


def _touch(request: ApprovalRequest, **changes: Any) -> ApprovalRequest:
    """Store changes of a locked request's claim or assignment."""
    changes["touched_at"] = timezone.now()
    ApprovalRequest.objects.filter(pk=request.pk).update(**changes)
    for name, value in changes.items():
        setattr(request, name, value)
    return request


def _taken(
    message: str, request: ApprovalRequest, *, claimed_by: str
) -> AssignedMeanwhile:
    return AssignedMeanwhile(
        message, claimed_by=claimed_by, assigned_to=assignee_name(request)
    )
