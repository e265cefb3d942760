"""Lease the resume of a request to one program at a time, until one of them completes it.

All actions hold the lock of the workflow, and each change is one conditional UPDATE.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.access import permissions
from approvals.actions.expiring import expire_if_overdue
from approvals.actions.locking import LockedRequest, lock_request, lock_visible_request
from approvals.actions.publishing import publish_handling
from approvals.asking.resume_states import decrypt_state, encrypt_state
from approvals.db.canonical_json import utc
from approvals.exceptions import NotAllowed, Refusal
from approvals.json_types import JsonDict
from approvals.models import ApprovalRequest
from approvals.models.actors import Actor, KeyActor
from approvals.models.resuming import MAX_WORKER, ResumeState, Resumption
from approvals.states import Door
from approvals.text.text import visible
from approvals.text.translation import ago

TOKEN_PREFIX = "ppr_"  # noqa: S105 - a prefix, not a token
TAKEN = "resume.taken"
RELEASED = "resume.released"
LOST = "resume.lost"
COMPLETED = "resume.completed"


class NotDecided(Refusal):
    """The request is still pending, so there is nothing to resume with."""

    code = "not_decided"
    status = 409
    sentence = gettext_lazy(
        "This request is still waiting. Resume after it is decided."
    )


class ResumeTaken(Refusal):
    """Someone else is resuming it; `resume` has the holder, the start and the end of the lease."""

    code = "resume_taken"
    status = 409

    def __init__(self, resumption: Resumption, now: datetime) -> None:
        self.resumption = resumption
        self.now = now
        values = {
            "who": resumption.holder,
            "until": f"{resumption.leased_until:%Y-%m-%d %H:%M:%S}",
        }
        super().__init__(
            _("%(who)s holds the resume lease of this request until %(until)s UTC.")
            % values
        )

    def members(self) -> JsonDict:
        return {"resume": progress(self.resumption)}

    def headers(self) -> dict[str, str]:
        left = (self.resumption.leased_until or self.now) - self.now
        return {"Retry-After": str(max(1, round(left.total_seconds() + 0.5)))}


class AlreadyResumed(Refusal):
    """It was resumed before; `resume` has the program and the time."""

    code = "already_resumed"
    status = 409

    def __init__(self, resumption: Resumption) -> None:
        self.resumption = resumption
        assert resumption.completed_at is not None
        values = {"who": resumption.holder, "when": ago(resumption.completed_at)}
        super().__init__(_("This request was resumed %(when)s by %(who)s.") % values)

    def members(self) -> JsonDict:
        return {"resume": progress(self.resumption)}


class ResumeLost(Refusal):
    """The token is not the current one: its lease expired or was released. `resume` has the current holder."""

    code = "resume_lost"
    status = 409

    def __init__(self, resumption: Resumption | None) -> None:
        self.resumption = resumption
        super().__init__(
            _(
                "This token no longer holds the resume lease: the lease has expired or was released. Claim it again."
            )
        )

    def members(self) -> JsonDict:
        return (
            {"resume": progress(self.resumption)} if self.resumption is not None else {}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedLease:
    """A claimed resume lease. `state` is None if the request was made without one."""

    request: ApprovalRequest
    resumption: Resumption
    token: str = field(repr=False)
    state: str | None = field(repr=False)
    replayed: bool = False


def progress(resumption: Resumption) -> JsonDict:
    """Return the state of a resume lease, for programs: its holder and start, and whether an earlier one expired."""
    moments = ("taken_at", "leased_until", "lost_at", "completed_at")
    times: dict[str, datetime | None] = {
        name: getattr(resumption, name) for name in moments
    }
    names = {
        "by": resumption.holder or None,
        "attempt": resumption.attempt,
        "lost_by": resumption.lost_by or None,
    }
    return names | {
        name: None if moment is None else utc(moment) for name, moment in times.items()
    }


def keep_state(request: ApprovalRequest, state: str) -> None:
    """Store the state of a run with a new request, inside its transaction."""
    ResumeState.objects.create(request=request, sealed=encrypt_state(state))


def take_resume(
    request_id: UUID,
    *,
    by: Actor,
    via: Door,
    worker: str,
    lease: timedelta,
    idempotency_key: str | None = None,
) -> ClaimedLease:
    """Claim the resume lease of a request; a repeat with the same key gets the same lease while it lasts.

    Raise NotFound, NotAllowed (not its client), NotDecided, ResumeTaken, AlreadyResumed, StateErased or StateUnreadable.
    """
    with transaction.atomic():
        locked = _lock(request_id, by)
        expire_if_overdue(locked)
        if not locked.request.pending:
            holder = (
                f"{by.get_username()} ({visible(worker)[:MAX_WORKER]})"
                if worker
                else by.get_username()
            )
            token = _token(request_id, by, idempotency_key)
            return _take(locked, token, holder, lease, by=by, via=via)
    raise NotDecided


def _take(
    locked: LockedRequest,
    token: str,
    holder: str,
    lease: timedelta,
    *,
    by: Actor,
    via: Door,
) -> ClaimedLease:
    request = locked.request
    now = locked.now
    before = _resumption_of(request)
    if before is None:
        before = Resumption.objects.create(request=request)
    if before.completed:
        raise AlreadyResumed(before)
    # Before the token is issued: an unreadable state must not be claimed.
    kept = ResumeState.objects.filter(request=request).first()
    state = None if kept is None else decrypt_state(kept.sealed)
    if _of(request, **_mine(token), leased_until__gt=now).exists():
        return ClaimedLease(
            request=request, resumption=before, token=token, state=state, replayed=True
        )
    if before.held:
        _note_loss(request, before, now)
    changes = {
        "token_digest": _digest(token),
        "holder": holder,
        "attempt": before.attempt + 1,
        "taken_at": now,
        "leased_until": now + lease,
    }
    if not _of(request, completed_at=None, leased_until=None).update(**changes):
        raise ResumeTaken(before, now)
    taken = _fresh(request)
    _publish(TAKEN, request, taken, actor=by, via=via, until=utc(now + lease))
    return ClaimedLease(request=request, resumption=taken, token=token, state=state)


def _token(request_id: UUID, by: Actor, idempotency_key: str | None) -> str:
    """Return a new token, or that of this idempotency key, so that a lost response can be repeated without storing it.

    An idempotency key belongs to the API key that sent it: two programs of one user do not share a lease.
    """
    if idempotency_key is None:
        return TOKEN_PREFIX + secrets.token_urlsafe(32)
    api_key = by.key.pk if isinstance(by, KeyActor) else None
    named = json.dumps([str(request_id), by.pk, api_key, idempotency_key])
    return (
        TOKEN_PREFIX
        + salted_hmac("approvals.resume-token", named, algorithm="sha256").hexdigest()
    )


def renew_resume(
    request_id: UUID, token: str, *, by: Actor, lease: timedelta
) -> Resumption:
    """Prolong a lease that has not ended. Raise NotFound, NotAllowed, AlreadyResumed or ResumeLost."""
    with transaction.atomic():
        locked = _lock(request_id, by)
        held = _of(locked.request, **_mine(token), leased_until__gt=locked.now)
        if not held.update(leased_until=locked.now + lease):
            raise _gone(locked.request)
        return _fresh(locked.request)


def release_resume(
    request_id: UUID, token: str, *, by: Actor, via: Door, reason: str = ""
) -> Resumption:
    """Release a resume lease, so that others can claim it at once. Raise NotFound, NotAllowed, AlreadyResumed or ResumeLost."""
    with transaction.atomic():
        request = _lock(request_id, by).request
        if not _of(request, **_mine(token)).update(token_digest="", leased_until=None):
            raise _gone(request)
        resumption = _fresh(request)
        _publish(RELEASED, request, resumption, actor=by, via=via, comment=reason)
        return resumption


def complete_resume(
    request_id: UUID, token: str, *, by: Actor, via: Door
) -> tuple[Resumption, bool]:
    """Record for good that the run was resumed, and erase its state. Return also whether this is new.

    An expired lease can be completed while no one else has claimed it. Raise NotFound, NotAllowed, AlreadyResumed or ResumeLost.
    """
    with transaction.atomic():
        locked = _lock(request_id, by)
        request = locked.request
        if not _of(request, **_mine(token)).update(
            completed_at=locked.now, leased_until=None
        ):
            known = _resumption_of(request)
            if (
                known is not None
                and known.completed
                and known.token_digest == _digest(token)
            ):
                return known, False
            raise _gone(request)
        ResumeState.objects.filter(request=request).delete()
        resumption = _fresh(request)
        _publish(COMPLETED, request, resumption, actor=by, via=via)
        return resumption, True


def free_lost_resume(request_id: UUID) -> bool:
    """Record the expiry of a lease; return False if there is none."""
    with transaction.atomic():
        locked = lock_request(request_id, wait=False)
        resumption = _resumption_of(locked.request) if locked is not None else None
        return (
            resumption is not None
            and locked is not None
            and _note_loss(locked.request, resumption, locked.now)
        )


def lost_leases(now: Any) -> QuerySet[Resumption]:
    """Return resumptions whose lease has expired without a completion."""
    return Resumption.objects.filter(leased_until__lte=now)


def _note_loss(request: ApprovalRequest, held: Resumption, now: datetime) -> bool:
    """Free an expired resume lease; its token can still complete while no one else claims it."""
    ended = held.leased_until
    if not _of(request, leased_until__lte=now).update(
        leased_until=None, lost_by=held.holder, lost_at=ended
    ):
        return False
    _publish(
        LOST,
        request,
        held,
        actor=None,
        via=Door.SYSTEM,
        taken_at=held.taken_at and utc(held.taken_at),
    )
    return True


def _lock(request_id: UUID, by: Actor) -> LockedRequest:
    """Lock a request for its API client. Raise NotFound or NotAllowed."""
    locked = lock_visible_request(request_id, by)
    if not permissions.may_resume(locked.standing, locked.request):
        raise NotAllowed(
            _("Only the client that made this request can resume from it.")
        )
    return locked


def _of(request: ApprovalRequest, **held: Any) -> QuerySet[Resumption]:
    return Resumption.objects.filter(Q(**held), request=request)


def _mine(token: str) -> JsonDict:
    return {"token_digest": _digest(token), "completed_at": None}


def _resumption_of(request: ApprovalRequest) -> Resumption | None:
    return Resumption.objects.filter(request=request).first()


def _fresh(request: ApprovalRequest) -> Resumption:
    return Resumption.objects.get(request=request)


def _gone(request: ApprovalRequest) -> Refusal:
    """Return why a token holds no lease."""
    resumption = _resumption_of(request)
    return (
        AlreadyResumed(resumption)
        if resumption is not None and resumption.completed
        else ResumeLost(resumption)
    )


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _publish(
    event: str,
    request: ApprovalRequest,
    resumption: Resumption,
    *,
    actor: Actor | None,
    via: Door,
    **more: Any,
) -> None:
    record = {"holder": resumption.holder, "attempt": resumption.attempt, **more}
    # Open pages that missed the notification catch up by it.
    ApprovalRequest.objects.filter(pk=request.pk).update(touched_at=timezone.now())
    publish_handling(event, request, record=record, actor=actor, via=via)
