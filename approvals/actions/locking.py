"""Lock requests and workflows for the rest of a transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import BigAutoField, CharField, QuerySet, UUIDField
from django.db.models.functions import Now

from approvals.access import permissions
from approvals.access.assignees import LAPSES, claimant
from approvals.access.standing import (
    ACTING,
    Basis,
    Standing,
    basis_of,
    read_again,
    standing_under_lock,
    with_standing,
)
from approvals.db.prepared import Parameter, Prepared
from approvals.db.transactions import in_line, lock_name, record_progress
from approvals.exceptions import NotFound
from approvals.models import ApprovalRequest, Workflow
from approvals.models.actors import Actor
from approvals.queries.requests import whole_requests, with_report

_STANDING = "people, teams and scopes"
#: Before the id of the person whose sessions are kept.
_SESSIONS = "sessions of "
#: Columns that may be large and do not affect the right to decide.
_UNCOUNTED = (
    "message",
    "context",
    "said_before",
    "response_schema",
    "options",
    "suggestions",
    "default_response",
)


@dataclass(frozen=True, slots=True)
class LockedRequest:
    """A request under the lock of its workflow, and the time by the database's clock.

    All processes use that one clock, however theirs drift.
    """

    request: ApprovalRequest
    workflow: Workflow
    now: datetime

    @property
    def overdue(self) -> bool:
        """Whether it is still pending after its deadline."""
        deadline = self.request.deadline_at
        return self.request.pending and deadline is not None and deadline <= self.now

    @property
    def claimed_by_id(self) -> int | None:
        """The id of the user with the current claim; None if it has lapsed."""
        return claimant(self.request, self.now)

    @property
    def claim_lapsed(self) -> bool:
        """Whether it is pending with a lapsed claim."""
        at = self.request.claimed_at
        return self.request.pending and at is not None and at <= self.now - LAPSES


@dataclass(frozen=True, slots=True)
class LockedFor(LockedRequest):
    """A locked request and the actor's standing, read under the lock."""

    standing: Standing


def _locked_requests(*, skip_locked: bool = False) -> QuerySet[ApprovalRequest]:
    """Return requests that the query locks, each after its workflow: PostgreSQL locks in the order of the names."""
    rows = with_report(whole_requests()).select_for_update(
        of=("workflow", "self"), no_key=True, skip_locked=skip_locked
    )
    return rows.annotate(now=Now())


def _one_request(*, skip_locked: bool = False) -> QuerySet[ApprovalRequest]:
    return _locked_requests(skip_locked=skip_locked).filter(
        pk=Parameter("pk", UUIDField())
    )


@dataclass(frozen=True, slots=True)
class _Queries:
    """The queries that lock one request: `free` skips it if another transaction holds it; `held` needs its workflow's lock."""

    free: Prepared[ApprovalRequest]
    held: Prepared[ApprovalRequest]


#: A request, locked with its workflow.
_ALONE = _Queries(
    free=Prepared(lambda: _one_request(skip_locked=True)), held=Prepared(_one_request)
)


def _with_actor(basis: Basis) -> _Queries:
    return _Queries(
        free=Prepared(
            lambda: with_standing(_one_request(skip_locked=True), ACTING, basis)
        ),
        held=Prepared(lambda: with_standing(_one_request(), ACTING, basis)),
    )


#: A request, locked with its workflow and read with the actor's standing, by basis.
_FOR_ACTOR: Mapping[Basis, _Queries] = {basis: _with_actor(basis) for basis in Basis}
#: A workflow by its client's name, locked.
_NAMED_WORKFLOW: Prepared[Workflow] = Prepared(
    lambda: _lockable_workflows().filter(
        scope=Parameter("scope", CharField()), key=Parameter("key", CharField())
    )
)
#: A workflow by its id, locked.
_WORKFLOW: Prepared[Workflow] = Prepared(
    lambda: _lockable_workflows().filter(pk=Parameter("pk", BigAutoField()))
)


def lock_request(request_id: UUID, *, wait: bool = True) -> LockedRequest | None:
    """Lock a request; None if there is none or, without `wait`, if another transaction holds the lock.

    All requests of a workflow share one lock, so transactions that end several of them in different orders cannot deadlock. The
    request is read as the last holder left it.
    """
    return _lock(_ALONE, request_id, wait=wait)


def _lock(
    queries: _Queries, request_id: UUID, *, wait: bool = True, **actor: Any
) -> LockedRequest | None:
    request = queries.free.first(pk=request_id, **actor)
    if (
        request is None
        and wait
        and (workflow := Workflow.objects.filter(requests=request_id).first())
        is not None
    ):
        lock_known_workflow(workflow.pk)
        request = queries.held.first(pk=request_id, **actor)
    elif request is not None:
        record_progress(("workflow", request.workflow_id))
        if _is_torn(request):
            request = queries.held.first(pk=request_id, **actor)
    if request is None:
        return None
    # Removed, so that no code relies on an attribute that other requests lack.
    return LockedRequest(request, request.workflow, vars(request).pop("now"))


def lock_free_requests(request_ids: Sequence[UUID]) -> list[ApprovalRequest]:
    """Lock those of these requests that no other transaction holds, with their workflows, in one statement."""
    if not request_ids:
        return []
    rows = (
        ApprovalRequest.objects.select_related("workflow")
        .defer(*_UNCOUNTED)
        .filter(pk__in=request_ids)
    )
    return list(
        rows.select_for_update(of=("workflow", "self"), no_key=True, skip_locked=True)
    )


def _is_torn(request: ApprovalRequest) -> bool:
    """Return whether another transaction ended or assigned the request while the locking statement began.

    PostgreSQL then rereads the locked rows, but not the joined decision and assignee.
    """
    decision = getattr(request, "decision", None)
    assignee = request.assigned_to
    return request.pending == (decision is not None) or request.assigned_to_id != (
        assignee.pk if assignee else None
    )


def lock_visible_request(request_id: UUID, actor: Actor) -> LockedFor:
    """Lock a request that the actor, whose standing is read again, may see. Raise NotFound, NotAuthenticated or ScopeMissing.

    Checks from before the lock may be out of date, so an action has to repeat them.
    """
    basis, parameters = basis_of(actor)
    locked = _lock(_FOR_ACTOR[basis], request_id, **parameters)
    if locked is None:
        raise NotFound
    standing = standing_under_lock(locked.request, actor, locked.now)
    if not permissions.may_see(standing, locked.request):
        raise NotFound
    return LockedFor(locked.request, locked.workflow, locked.now, standing)


def lock_standing(by: Actor) -> Standing:
    """Take the one lock for changes of people's rights: people, teams, rights, scopes, absences, and the policy.

    With separate locks, two changes could each pass their checks and together give a forbidden right: joining a team while
    creating a scope for it. The actor's standing is read again. Raise NotAuthenticated or ScopeMissing.
    """
    lock_rights()
    return read_again(by)


def lock_rights() -> None:
    """Take the lock of `lock_standing`, for a change that no one makes by hand."""
    lock_name(_STANDING)


def keep_sessions_of(person: int) -> None:
    """Let no other transaction end this person's sessions before this one ends; call it before their standing is read.

    Whatever takes a right, a factor or the account from a person ends their sessions in its transaction. So it commits after this
    one, or this one sees it.
    """
    lock_name(f"{_SESSIONS}{person}", shared=True)


def lock_sessions_of(person: int) -> None:
    """Wait for the transactions that keep this person's sessions; later ones wait for this transaction."""
    lock_name(f"{_SESSIONS}{person}")


def lock_workflow(*, scope: str, key: str) -> Workflow | None:
    """Lock a workflow; None if there is none (yet).

    Call it before a transaction writes its first event: every transaction locks the workflow before its event counter, so that no
    two deadlock.
    """
    with in_line(("workflow", scope, key)):
        return _NAMED_WORKFLOW.first(scope=scope, key=key)


def lock_known_workflow(workflow_id: int) -> Workflow:
    with in_line(("workflow", workflow_id)):
        workflow = _WORKFLOW.first(pk=workflow_id)
    if workflow is None:
        raise Workflow.DoesNotExist
    return workflow


def _lockable_workflows() -> QuerySet[Workflow]:
    return Workflow.objects.select_for_update(of=("self",), no_key=True)
