"""Permission checks: one function per right, of a person's standing and a request (docs/reference/permissions.md).

They read nothing. `deciders_of` and `readers_of` express the same rules as query conditions.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Protocol

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import BigAutoField, Exists, FloatField, OuterRef, Q, QuerySet

from approvals.access import scopes
from approvals.access.callers import KEY_SCOPE, USER_SCOPE
from approvals.access.rights import (
    ADMINISTER,
    BREAK_GLASS,
    DECIDE,
    IGNORE_SCOPES,
    REVEAL,
    VIEW,
    VIEW_RECORD,
    holds,
)
from approvals.access.scopes import ChangedInput, InScopes
from approvals.access.standing import Standing
from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Values
from approvals.models import ApprovalRequest, ApproverScope, Workflow
from approvals.models.policy.scopes import May
from approvals.policy import absence
from approvals.states import ASKS, Control, Kind, Priority


def sees_everything(standing: Standing) -> bool:
    """Return whether this is a decider or auditor without scope limits, who sees every request."""
    return not standing.is_limited and sees_more_than_own(standing)


def sees_by_scopes(standing: Standing) -> bool:
    """Return whether this is a decider or auditor who sees only requests in their approver scopes."""
    return standing.is_limited and sees_more_than_own(standing)


def sees_more_than_own(standing: Standing) -> bool:
    """Return whether this is a decider or auditor, limited by scopes or not: their pages are notified of every change."""
    return DECIDE in standing.rights or VIEW in standing.rights


def in_reach(standing: Standing, request: InScopes, may: May = May.SEE) -> bool:
    """Return whether a scope gives this limited person the right `may` on a request."""
    return standing.reach is not None and standing.reach.allows(may, request)


def decides_everything(standing: Standing) -> bool:
    """Return whether this is a decider without scope limits, who may answer and decide every request."""
    return not standing.is_limited and DECIDE in standing.rights


def deciders() -> QuerySet[User]:
    """Return all active users who may decide requests, limited by scopes or not."""
    return User.objects.with_perm(
        DECIDE, backend="django.contrib.auth.backends.ModelBackend"
    )


@dataclass(frozen=True, slots=True)
class DecisionSubject:
    """The values of a request that determine its deciders, or the parameters of a prepared query in their place.

    `runners` are the people who run the agent or created the key of the request, `barred` those of them who may not decide, and
    `confirming` those who may because they run it.
    """

    scope_set: Any
    amount: Any
    runners: Collection[int] | Parameter
    barred: Collection[int] | Parameter
    confirming: Collection[int] | Parameter

    @classmethod
    def of(cls, request: ApprovalRequest) -> DecisionSubject:
        runs = sorted(request.runners)
        interested = sorted(request.interested)
        confirms = request.control == Control.CONFIRM and request.kind == Kind.APPROVAL
        amount = None if request.amount is None else abs(request.amount)
        barred = interested if request.control == Control.FOUR_EYES else ()
        return cls(
            request.scope_set_id, amount, interested, barred, runs if confirms else ()
        )

    @classmethod
    def parameters(cls) -> DecisionSubject:
        """Return the parameters of a prepared query, named after these fields."""
        values = Values()
        return cls(
            Parameter("scope_set", BigAutoField()),
            Parameter("amount", FloatField()),
            Parameter("runners", values),
            Parameter("barred", values),
            Parameter("confirming", values),
        )

    def deciders(self, *, in_own_right: bool = False) -> QuerySet[User]:
        """Return all active users who may decide it, as in `may_decide`; with `in_own_right`, not only as someone's delegate."""
        unlimited = ~Exists(ApproverScope.objects.all()) | holds(IGNORE_SCOPES, "pk")
        allowing = scopes.allowing(self.scope_set, self.amount)
        scopes_allowing = ApproverScope.objects.filter(allowing)
        allowed = scopes.names(scopes_allowing, OuterRef("pk"))
        if not in_own_right:
            allowed |= scopes.names_absent(
                scopes_allowing, OuterRef("pk"), without=self.runners
            )
        may = Q(is_superuser=True) | (holds(DECIDE, "pk") & (unlimited | allowed))
        may &= ~Q(pk__in=any_of(self.barred, int))
        return User.objects.filter(
            may | Q(pk__in=any_of(self.confirming, int)), is_active=True
        )


def deciders_of(
    request: ApprovalRequest, *, in_own_right: bool = False
) -> QuerySet[User]:
    """Return all active users who may decide this request, as in `Decided.deciders`."""
    return DecisionSubject.of(request).deciders(in_own_right=in_own_right)


def readers_of(request: ApprovalRequest) -> QuerySet[User]:
    """Return the active people who may see a request, as in `may_see`."""
    own = Q(pk__in=(request.requested_by_id, request.assigned_to_id))
    unlimited = ~Exists(ApproverScope.objects.all()) | holds(IGNORE_SCOPES, "pk")
    scopes_of_it = ApproverScope.objects.filter(scopes.fitting(request.scope_set_id))
    fitting = scopes.names(scopes_of_it, OuterRef("pk")) | scopes.names_absent(
        scopes_of_it, OuterRef("pk")
    )
    everyone = Q(is_superuser=True) | (
        (holds(DECIDE, "pk") | holds(VIEW, "pk")) & (unlimited | fitting)
    )
    return User.objects.filter(own | everyone, is_active=True)


def may_administer(standing: Standing) -> bool:
    """Return whether this person may manage people, keys, webhooks, notification rules and tools."""
    return ADMINISTER in standing.rights


def administrators() -> QuerySet[User]:
    """Return all active users who may administer."""
    return User.objects.with_perm(
        ADMINISTER, backend="django.contrib.auth.backends.ModelBackend"
    )


def reads_record(standing: Standing) -> bool:
    """Return whether this person may read and export the whole audit log; people limited by scopes may not."""
    return not standing.is_limited and VIEW_RECORD in standing.rights


def reads_scopes(standing: Standing) -> bool:
    """Return whether this person may read all approver scopes: administrators and readers of the audit log."""
    return may_administer(standing) or reads_record(standing)


def may_reveal(standing: Standing) -> bool:
    """Return whether this person may reveal hidden values in requests that they see."""
    return REVEAL in standing.rights


def may_see(standing: Standing, request: ApprovalRequest) -> bool:
    return (
        sees_everything(standing)
        or _is_own(standing, request)
        or in_reach(standing, request)
    )


def may_see_workflow(standing: Standing, workflow: Workflow) -> bool:
    return sees_everything(standing) or standing.is_person(workflow.owner_id)


def may_answer(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person may answer a question or a form."""
    return (
        decides_everything(standing)
        or _is_own(standing, request)
        or _decides_in_reach(standing, request, May.ANSWER)
    )


class Decidable(InScopes, Protocol):
    """The part of a request that the right to decide it depends on."""

    @property
    def kind(self) -> str: ...

    @property
    def control(self) -> str | None: ...

    @property
    def runners(self) -> frozenset[int]: ...


def may_decide(standing: Standing, request: Decidable) -> bool:
    """Return whether this person may decide an approval or recovery; being its assignee or requester is not enough.

    With the control *confirm*, the person who runs the agent may decide its approvals; with *four eyes* they never may.
    """
    if request.control == Control.FOUR_EYES and is_interested(standing, request):
        return False
    confirms = (
        request.control == Control.CONFIRM
        and request.kind == Kind.APPROVAL
        and runs_agent(standing, request)
    )
    return (
        confirms
        or decides_everything(standing)
        or _decides_in_reach(standing, request, May.DECIDE)
    )


def runs_agent(standing: Standing, request: Decidable) -> bool:
    """Return whether this person, or a key of theirs, made the request, or whether they own its workflow."""
    return any(standing.is_person(runner) for runner in request.runners)


def is_interested(standing: Standing, request: Decidable) -> bool:
    """Return whether this person runs the agent or created its key: four eyes requires someone else."""
    return any(standing.is_person(each) for each in request.interested)


def may_change_input(
    standing: Standing, request: ApprovalRequest, change: ChangedInput
) -> bool:
    """Return whether a person who may decide a request may decide it with this changed input."""
    confirms = request.control == Control.CONFIRM and runs_agent(standing, request)
    return (
        standing.reach is None
        or confirms
        or standing.reach.allows(May.DECIDE, request, change)
    )


def _decides_in_reach(standing: Standing, request: InScopes, may: May) -> bool:
    return DECIDE in standing.rights and in_reach(standing, request, may)


def seats(standing: Standing, request: ApprovalRequest) -> tuple[int, ...]:
    """Return the ids of the people for whom this person may vote on a request now, their own first (`policy.absence`)."""
    return absence.seats(standing.pk, standing.away_for, request.interested)


def decides_for(
    standing: Standing, request: ApprovalRequest, change: ChangedInput | None = None
) -> int | None:
    """Return the id of the absent person on whose behalf this person may end a request; None if they may in their own right."""
    reach = standing.reach
    if reach is None or (request.kind in ASKS and _is_own(standing, request)):
        return None
    return reach.seat(
        May.ANSWER if request.kind in ASKS else May.DECIDE, request, change
    )


def _is_own(standing: Standing, request: ApprovalRequest) -> bool:
    return standing.is_person(request.requested_by_id) or standing.is_person(
        request.assigned_to_id
    )


def may_close(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person may end the request with any verdict of its kind."""
    return (
        may_answer(standing, request)
        if request.kind in ASKS
        else may_decide(standing, request)
    )


def may_be_assigned(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this user may be assigned the request: anyone for a question, only deciders for an approval."""
    return standing.is_active and (
        request.kind in ASKS or may_decide(standing, request)
    )


def asked_through_own_key(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether a key of the same user, or one that they created, made this request over the API: a program must not
    decide its own request.
    """
    from_outside = request.scope.startswith(KEY_SCOPE)
    return (
        standing.by_key
        and from_outside
        and standing.pk in {request.requested_by_id, request.key_made_by_id}
    )


def only_on_own_pages(request: ApprovalRequest) -> bool:
    """Return whether it can be decided only on the web pages: recoveries, and approvals that require typing a name."""
    return request.kind == Kind.RECOVERY or (
        request.kind == Kind.APPROVAL and wants_typed_name(request)
    )


class GuardedRequest(Protocol):
    """The part of a request that says what its decision requires besides the right to decide."""

    @property
    def kind(self) -> str: ...

    @property
    def priority(self) -> str: ...

    @property
    def terms(self) -> Any: ...


def wants_typed_name(request: GuardedRequest) -> bool:
    """Return whether approving requires typing a name: the request is critical, or its terms require it."""
    return request.priority == Priority.CRITICAL or bool(
        request.terms and request.terms.get("typed_name")
    )


def needs_fresh_sign_in(request: GuardedRequest) -> bool:
    """Return whether a decision requires a recent log-in: by the settings about critical approvals, or by its terms."""
    critical = request.kind == Kind.APPROVAL and request.priority == Priority.CRITICAL
    if critical and "critical" in settings.HITL_FRESH_SIGN_IN_FOR:
        return True
    return bool(request.terms and request.terms.get("fresh_sign_in"))


def may_break_glass(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person may decide alone a request whose terms require several people."""
    return BREAK_GLASS in standing.rights and may_decide(standing, request)


def may_comment(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person may comment, even after the end: deciders, the requester and the assignee."""
    return may_close(standing, request) or _is_own(standing, request)


def may_resume(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether a program of this user made the request: chat agents are resumed by Pausepoint itself."""
    return is_from_outside(request) and standing.is_person(request.requested_by_id)


def is_from_outside(request: ApprovalRequest) -> bool:
    """Return whether a program made the request through the API."""
    return request.scope.startswith((KEY_SCOPE, USER_SCOPE))


def may_cancel(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person may cancel a request: its requester, or a person who may decide it as an approval.

    A request that requires several people cannot be ended by one of them.
    """
    several = bool(request.terms and request.terms.get("stages"))
    return standing.is_person(request.requested_by_id) or (
        not several and may_decide(standing, request)
    )


def may_stop(standing: Standing, owner_id: int) -> bool:
    """Return whether this person may stop a workflow: its owner, or a decider without scope limits."""
    return decides_everything(standing) or standing.is_person(owner_id)


def in_scope(standing: Standing, request: str = "") -> Q:
    """Return the condition of requests that a limited person sees by scopes; `request` is the lookup path to the request."""
    return Q(**{f"{request}scope_set__in": any_of(standing.scope_sets, int)})
