"""Who may do what: one function per right, of someone's standing and a request (docs/reference/permissions.md).

They read nothing. `deciders_of` and `readers_of` are the same rules as conditions of a query.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import BigAutoField, Exists, FloatField, OuterRef, Q, QuerySet

from approvals.access import scopes
from approvals.access.keys import KEY_SCOPE, USER_SCOPE
from approvals.access.rights import ADMINISTER, BREAK_GLASS, DECIDE, IGNORE_SCOPES, REVEAL, VIEW, VIEW_RECORD, holds
from approvals.access.scopes import Change
from approvals.access.standing import Standing
from approvals.db.many import Values, any_of
from approvals.db.prepared import Parameter
from approvals.models import ApprovalRequest, ApproverScope, Workflow
from approvals.models.policy.scopes import May
from approvals.policy import absence
from approvals.states import ASKS, Control, Kind, Priority


def sees_everything(standing: Standing) -> bool:
    """Return whether this is a decider or an auditor, who see every request unless scopes limit them."""
    return not standing.is_limited and sees_more_than_own(standing)


def sees_by_scopes(standing: Standing) -> bool:
    """Return whether this is a decider or an auditor who sees only what approver scopes let them see."""
    return standing.is_limited and sees_more_than_own(standing)


def sees_more_than_own(standing: Standing) -> bool:
    """Return whether this is a decider or an auditor, limited by scopes or not: pages of theirs are told of every change."""
    return decides_some(standing) or standing.holds(VIEW)


def decides_some(standing: Standing) -> bool:
    """Return whether this is a decider, limited by scopes or not."""
    return standing.holds(DECIDE)


def in_reach(standing: Standing, request: ApprovalRequest, may: May = May.SEE) -> bool:
    """Return whether a scope lets this limited person do so with a request."""
    return standing.reach is not None and standing.reach.allows(may, request)


def decides_everything(standing: Standing) -> bool:
    """Return whether this is a decider, who may answer and decide every request unless scopes limit them."""
    return not standing.is_limited and decides_some(standing)


def deciders() -> QuerySet[User]:
    """Return every active user who may decide requests, limited by scopes or not."""
    return User.objects.with_perm(DECIDE, backend="django.contrib.auth.backends.ModelBackend")


@dataclass(frozen=True, slots=True)
class Decided:
    """What of a request says who may decide it, or the parameters of a prepared query in its place.

    `runners` are the people who run the agent or made the key that asked, `barred` those who may not, and `confirming` those
    who may because they run it.
    """

    scope_set: Any
    amount: Any
    runners: Collection[int] | Parameter
    barred: Collection[int] | Parameter
    confirming: Collection[int] | Parameter

    @classmethod
    def of(cls, request: ApprovalRequest) -> Decided:
        runs, interested = sorted(request.runners), sorted(request.interested)
        confirms = request.control == Control.CONFIRM and request.kind == Kind.APPROVAL
        amount = None if request.amount is None else abs(request.amount)
        barred = interested if request.control == Control.FOUR_EYES else ()
        return cls(request.scope_set_id, amount, interested, barred, runs if confirms else ())

    @classmethod
    def parameters(cls) -> Decided:
        """Return the parameters of a prepared query, which are the values of these names."""
        values = Values()
        return cls(
            Parameter("scope_set", BigAutoField()),
            Parameter("amount", FloatField()),
            Parameter("runners", values),
            Parameter("barred", values),
            Parameter("confirming", values),
        )

    def deciders(self, *, in_own_right: bool = False) -> QuerySet[User]:
        """Return every active user who may decide it, as `may_decide` says, or not only in the absence of others."""
        unlimited = Q(is_superuser=True) | ~Exists(ApproverScope.objects.all()) | holds(IGNORE_SCOPES, "pk")
        allowing = scopes.allowing(self.scope_set, self.amount)
        scopes_allowing = ApproverScope.objects.filter(allowing)
        allowed = scopes.names(scopes_allowing, OuterRef("pk"))
        if not in_own_right:
            allowed |= scopes.names_absent(scopes_allowing, OuterRef("pk"), without=self.runners)
        may = Q(is_superuser=True) | (holds(DECIDE, "pk") & (unlimited | allowed))
        may &= ~Q(pk__in=any_of(self.barred, int))
        return User.objects.filter(may | Q(pk__in=any_of(self.confirming, int)), is_active=True)


def deciders_of(request: ApprovalRequest, *, in_own_right: bool = False) -> QuerySet[User]:
    """Return every active user who may decide this request, as `Decided.deciders` says."""
    return Decided.of(request).deciders(in_own_right=in_own_right)


def readers_of(request: ApprovalRequest) -> QuerySet[User]:
    """Return the active people who may see a request, as `may_see` says."""
    own = Q(pk__in=[pk for pk in (request.requested_by_id, request.assigned_to_id) if pk])
    unlimited = ~Exists(ApproverScope.objects.all()) | holds(IGNORE_SCOPES, "pk")
    scopes_of_it = ApproverScope.objects.filter(scopes.fitting(request.scope_set_id))
    fitting = scopes.names(scopes_of_it, OuterRef("pk")) | scopes.names_absent(scopes_of_it, OuterRef("pk"))
    everyone = Q(is_superuser=True) | ((holds(DECIDE, "pk") | holds(VIEW, "pk")) & (unlimited | fitting))
    return User.objects.filter(own | everyone, is_active=True)


def may_administer(standing: Standing) -> bool:
    """Return whether this person may manage people, keys, webhooks, notification rules and tools."""
    return standing.holds(ADMINISTER)


def administrators() -> QuerySet[User]:
    """Return every active user who may administer."""
    return User.objects.with_perm(ADMINISTER, backend="django.contrib.auth.backends.ModelBackend")


def reads_record(standing: Standing) -> bool:
    """Return whether this person may read and export the audit log: all of it, so no one whom scopes limit."""
    return not standing.is_limited and standing.holds(VIEW_RECORD)


def reads_scopes(standing: Standing) -> bool:
    """Return whether this person may read all approver scopes: who writes them, and who reads the record of them."""
    return may_administer(standing) or reads_record(standing)


def may_reveal(standing: Standing) -> bool:
    """Return whether this person may show the hidden values of the requests that they see."""
    return standing.holds(REVEAL)


def may_see(standing: Standing, request: ApprovalRequest) -> bool:
    return sees_everything(standing) or _is_own(standing, request) or in_reach(standing, request)


def may_see_workflow(standing: Standing, workflow: Workflow) -> bool:
    return sees_everything(standing) or standing.is_person(workflow.owner_id)


def may_answer(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person may answer a question or a form."""
    return (
        decides_everything(standing) or _is_own(standing, request) or _decides_in_reach(standing, request, May.ANSWER)
    )


def may_decide(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person may decide an approval or recovery; an assignee or requester does not get that right.

    With the control *confirm*, the person who runs the agent may decide its approvals, with *four eyes* they never may.
    """
    if request.control == Control.FOUR_EYES and is_interested(standing, request):
        return False
    confirms = request.control == Control.CONFIRM and request.kind == Kind.APPROVAL and runs_agent(standing, request)
    return confirms or decides_everything(standing) or _decides_in_reach(standing, request, May.DECIDE)


def runs_agent(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person, or a key of theirs, asked, or owns the work for which it was asked."""
    return any(standing.is_person(runner) for runner in request.runners)


def is_interested(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person runs the agent, or made the key that asked: four eyes means someone else."""
    return any(standing.is_person(each) for each in request.interested)


def may_change_input(standing: Standing, request: ApprovalRequest, change: Change) -> bool:
    """Return whether someone who may decide a request may do so with this changed input."""
    confirms = request.control == Control.CONFIRM and runs_agent(standing, request)
    return standing.reach is None or confirms or standing.reach.allows(May.DECIDE, request, change)


def _decides_in_reach(standing: Standing, request: ApprovalRequest, may: May) -> bool:
    return standing.holds(DECIDE) and in_reach(standing, request, may)


def seats(standing: Standing, request: ApprovalRequest) -> tuple[int, ...]:
    """Return the ids of those for whom this person may vote on a request now, their own first (`policy.absence`)."""
    return absence.seats(standing.pk, standing.away_for, request.interested)


def decides_for(standing: Standing, request: ApprovalRequest, change: Change | None = None) -> int | None:
    """Return the id of the person in whose absence alone this one may end a request; None if they may in their own right."""
    reach = standing.reach
    if reach is None or (request.kind in ASKS and _is_own(standing, request)):
        return None
    if request.control == Control.CONFIRM and request.kind == Kind.APPROVAL and runs_agent(standing, request):
        return None
    return reach.seat(May.ANSWER if request.kind in ASKS else May.DECIDE, request, change)


def _is_own(standing: Standing, request: ApprovalRequest) -> bool:
    return standing.is_person(request.requested_by_id) or standing.is_person(request.assigned_to_id)


def may_close(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person may end the request with any verdict that fits its kind."""
    return may_answer(standing, request) if request.kind in ASKS else may_decide(standing, request)


def may_be_assigned(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this user may get the request: anyone a question, only its deciders an approval."""
    return standing.is_active and (request.kind in ASKS or may_decide(standing, request))


def asked_through_own_key(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether a key of the same user, or one that they made, asked this over the API: a program must not decide its
    own request.
    """
    from_outside = request.scope.startswith(KEY_SCOPE)
    return standing.by_key and from_outside and standing.pk in {request.requested_by_id, request.key_made_by_id}


def only_on_own_pages(request: ApprovalRequest) -> bool:
    """Return whether only the web pages may decide it: every recovery, and approvals for which people type a name."""
    return request.kind == Kind.RECOVERY or (request.kind == Kind.APPROVAL and wants_typed_name(request))


def wants_typed_name(request: ApprovalRequest) -> bool:
    """Return whether people type a name to approve it: if it is critical, or if its terms say so."""
    return request.priority == Priority.CRITICAL or bool(request.terms and request.terms.get("typed_name"))


def may_break_glass(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person may decide alone what the terms of a request leave to several people."""
    return standing.holds(BREAK_GLASS) and may_decide(standing, request)


def may_comment(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person may comment, also after the end: deciders, the requester and the assignee."""
    return may_close(standing, request) or _is_own(standing, request)


def may_resume(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether a program of this user made the request: agents of chats are resumed by Pausepoint itself."""
    return is_from_outside(request) and standing.is_person(request.requested_by_id)


def is_from_outside(request: ApprovalRequest) -> bool:
    """Return whether a program made the request through the API."""
    return request.scope.startswith((KEY_SCOPE, USER_SCOPE))


def may_cancel(standing: Standing, request: ApprovalRequest) -> bool:
    """Return whether this person may cancel a request: who asked, and who decides approvals as it is.

    What several people have to decide is not ended by one of them.
    """
    several = bool(request.terms and request.terms.get("stages"))
    return standing.is_person(request.requested_by_id) or (not several and may_decide(standing, request))


def may_stop(standing: Standing, owner_id: int) -> bool:
    """Return whether this person may stop the work of an owner: the owner, and who decides everything."""
    return decides_everything(standing) or standing.is_person(owner_id)


def in_scope(standing: Standing, request: str = "") -> Q:
    """Return the condition of requests that a scope lets a limited person see; `request` is the way to them, if there is one."""
    return Q(**{f"{request}scope_set__in": any_of(standing.scope_sets, int)})
