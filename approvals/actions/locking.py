"""Lock requests and workflows for the rest of a transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import CharField, QuerySet, UUIDField
from django.db.models.functions import Now

from approvals.access import permissions
from approvals.access.assignees import LAPSES, claimant
from approvals.access.standing import (
    ACTING,
    Basis,
    Standing,
    basis_of,
    parameters_of,
    read_again,
    standing_under_lock,
    with_standing,
)
from approvals.db.prepared import Parameter, Prepared
from approvals.db.transactions import in_line, lock_name
from approvals.exceptions import NotFound
from approvals.models import ApprovalRequest, Workflow
from approvals.models.actors import Actor
from approvals.queries.requests import whole_requests, with_report

_STANDING = "people, teams and scopes"
#: Columns that may be large and that do not matter to who may decide.
_UNCOUNTED = ("message", "context", "said_before", "response_schema", "options", "suggestions", "default_response")


@dataclass(frozen=True, slots=True)
class Locked:
    """A request as it is under the lock of its workflow, and the time by the database's clock.

    All processes go by that one clock, however theirs drift.
    """

    request: ApprovalRequest
    workflow: Workflow
    now: datetime

    @property
    def overdue(self) -> bool:
        """Whether it still waits though its deadline has passed."""
        deadline = self.request.deadline_at
        return self.request.pending and deadline is not None and deadline <= self.now

    @property
    def claimed_by_id(self) -> int | None:
        """The id of the user who has claimed it, unless the claim has lapsed."""
        return claimant(self.request, self.now)

    @property
    def claim_lapsed(self) -> bool:
        """Whether it waits and was claimed too long ago."""
        at = self.request.claimed_at
        return self.request.pending and at is not None and at <= self.now - LAPSES


@dataclass(frozen=True, slots=True)
class LockedFor(Locked):
    """A locked request and the standing of who acts on it, as it is under the lock."""

    standing: Standing


def _locked_requests(*, skip_locked: bool = False) -> QuerySet[ApprovalRequest]:
    """Return requests that the query locks, each after its workflow: PostgreSQL locks in the order of the names."""
    rows = with_report(whole_requests()).select_for_update(
        of=("workflow", "self"), no_key=True, skip_locked=skip_locked
    )
    return rows.annotate(now=Now())


def _one_request(*, skip_locked: bool = False) -> QuerySet[ApprovalRequest]:
    return _locked_requests(skip_locked=skip_locked).filter(pk=Parameter("pk", UUIDField()))


@dataclass(frozen=True, slots=True)
class _Queries:
    """The queries that lock one request: `free` skips it if another transaction holds it, `held` has the lock of its workflow."""

    free: Prepared[ApprovalRequest]
    held: Prepared[ApprovalRequest]


_ALONE = _Queries(free=Prepared(lambda: _one_request(skip_locked=True)), held=Prepared(_one_request))


def _with_actor(basis: Basis) -> _Queries:
    return _Queries(
        free=Prepared(lambda: with_standing(_one_request(skip_locked=True), ACTING, basis)),
        held=Prepared(lambda: with_standing(_one_request(), ACTING, basis)),
    )


_FOR_ACTOR: Mapping[Basis, _Queries] = {basis: _with_actor(basis) for basis in Basis}
_NAMED_WORKFLOW: Prepared[Workflow] = Prepared(
    lambda: _lockable_workflows().filter(scope=Parameter("scope", CharField()), key=Parameter("key", CharField()))
)


def lock_request(request_id: UUID, *, wait: bool = True) -> Locked | None:
    """Lock a request; None if there is none or, without `wait`, if another transaction holds the lock.

    There is one lock for everything that a workflow asks, so two transactions that end several of its requests in
    different orders cannot block each other. The request is as the last holder left it.
    """
    return _lock(_ALONE, request_id, wait=wait)


def _lock(queries: _Queries, request_id: UUID, *, wait: bool = True, **actor: Any) -> Locked | None:
    request = queries.free.first(pk=request_id, **actor)
    if request is None and wait and (workflow := Workflow.objects.filter(requests=request_id).first()) is not None:
        lock_known_workflow(workflow.pk)
        request = queries.held.first(pk=request_id, **actor)
    elif request is not None and _is_torn(request):
        request = queries.held.first(pk=request_id, **actor)
    if request is None:
        return None
    # Removed, so that no code relies on an attribute that other requests lack.
    return Locked(request, request.workflow, vars(request).pop("now"))


def lock_free_requests(request_ids: Sequence[UUID]) -> list[ApprovalRequest]:
    """Lock those of these requests that no other transaction holds, with their workflows, in one statement."""
    if not request_ids:
        return []
    rows = ApprovalRequest.objects.select_related("workflow").defer(*_UNCOUNTED).filter(pk__in=request_ids)
    return list(rows.select_for_update(of=("workflow", "self"), no_key=True, skip_locked=True))


def _is_torn(request: ApprovalRequest) -> bool:
    """Whether another transaction ended or assigned the request while the statement that locked it began.

    PostgreSQL then reads the locked rows again, but not the decision and the assignee beside them.
    """
    decision, assignee = getattr(request, "decision", None), request.assigned_to
    return request.pending == (decision is not None) or request.assigned_to_id != (assignee.pk if assignee else None)


def lock_visible_request(request_id: UUID, actor: Actor) -> LockedFor:
    """Lock a request that someone may see, who is read anew with it. NotFound, NotAuthenticated, ScopeMissing.

    What was checked before the lock was true then: an action that goes on has to check it again.
    """
    locked = _lock(_FOR_ACTOR[basis_of(actor)], request_id, **parameters_of(actor))
    if locked is None:
        raise NotFound
    standing = standing_under_lock(locked.request, actor, locked.now)
    if not permissions.may_see(standing, locked.request):
        raise NotFound
    return LockedFor(locked.request, locked.workflow, locked.now, standing)


def lock_standing(by: Actor) -> Standing:
    """Hold the one lock of whoever changes who may do what: people, teams and rights, scopes, absences, and the policy.

    With a lock each, two changes could pass their checks at the same moment, and give together what neither may give: who joins
    a team while making a scope that names it. The standing of the actor is read anew. NotAuthenticated, ScopeMissing.
    """
    lock_name(_STANDING)
    return read_again(by)


def lock_workflow(*, scope: str, key: str) -> Workflow | None:
    """Lock a workflow; None if there is none (yet).

    Call it before a transaction writes its first event: every transaction locks the workflow before the counter of its
    events, so that no two wait for each other.
    """
    with in_line(("workflow", scope, key)):
        return _NAMED_WORKFLOW.first(scope=scope, key=key)


def lock_known_workflow(workflow_id: int) -> Workflow:
    with in_line(("workflow", workflow_id)):
        return _lockable_workflows().get(pk=workflow_id)


def _lockable_workflows() -> QuerySet[Workflow]:
    return Workflow.objects.select_for_update(of=("self",), no_key=True)
