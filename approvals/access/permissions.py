"""Who may do what: one function per right (docs/reference/permissions.md)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypeGuard

from django.contrib.auth.models import AnonymousUser, Permission, User
from django.db.models import BigAutoField, Exists, FloatField, OuterRef, Q, QuerySet, Value

from approvals.access import scopes, standing_in
from approvals.access.keys import KEY_SCOPE, USER_SCOPE
from approvals.access.rights import ADMINISTER, BREAK_GLASS, DECIDE, IGNORE_SCOPES, REVEAL, VIEW, VIEW_RECORD, holds
from approvals.access.scopes import Change
from approvals.db.many import Values, any_of
from approvals.db.prepared import Parameter
from approvals.models import ApprovalRequest, ApproverScope, Workflow
from approvals.models.actors import Actor, KeyActor, person_behind
from approvals.models.policy.scopes import May
from approvals.policy import absence
from approvals.states import ASKS, Control, Kind, Priority

Person = Actor | AnonymousUser
#: The user that someone has named; AnonymousUser if there is none of that name.
Named = User | AnonymousUser


def is_limited(user: Person) -> bool:
    """Return whether approver scopes limit what this person may see and decide."""
    return not isinstance(user, AnonymousUser) and scopes.is_limited(person_behind(user))


def sees_everything(user: Person) -> bool:
    """Return whether this is a decider or an auditor, who see every request unless scopes limit them."""
    return not is_limited(user) and sees_more_than_own(user)


def sees_by_scopes(user: Person) -> bool:
    """Return whether this is a decider or an auditor who sees only what approver scopes let them see."""
    return is_limited(user) and sees_more_than_own(user)


def sees_more_than_own(user: Person) -> bool:
    """Return whether this is a decider or an auditor, limited by scopes or not: pages of theirs are told of every change."""
    return decides_some(user) or user.has_perm(VIEW)


def decides_some(user: Person) -> bool:
    """Return whether this is a decider, limited by scopes or not."""
    # What one statement reads of a person includes the limits, so they are asked for first.
    is_limited(user)
    return user.has_perm(DECIDE)


def in_reach(user: Person, request: ApprovalRequest, may: May = May.SEE) -> bool:
    """Return whether a scope lets this limited person do so with a request."""
    reach = scopes.reach_of(user)
    return reach is not None and reach.allows(may, request)


def load_permissions(users: Collection[User]) -> None:
    """Load the permissions of these users in two queries, into the cache of `ModelBackend` that `has_perm` reads."""
    known: dict[int, set[str]] = {user.pk: set() for user in users}
    for way in ("user", "group__user"):
        granted = Permission.objects.filter(**{f"{way}__in": any_of(known, int)})
        rows = granted.order_by().values_list(way, "content_type__app_label", "codename")
        # The row of no user says that there are scopes; the right without a name, that a user stands in for someone.
        scoped = ApproverScope.objects.order_by().values_list(Value(0), Value(""), Value(""))
        delegates = standing_in.absences_of(known).order_by().values_list("delegate", Value(""), Value(""))
        for user_id, app, name in rows.union(scoped, delegates).order_by():
            known.setdefault(user_id, set()).add(f"{app}.{name}")
    for user in users:
        user._perm_cache = known[user.pk]  # type: ignore[attr-defined]
        standing_in.remember(user, stands_in="." in known[user.pk])
    scopes.load_reach(users, scoped=0 in known, stand_in={pk for pk, rows in known.items() if "." in rows})


def decides_everything(user: Person) -> bool:
    """Return whether this is a decider, who may answer and decide every request unless scopes limit them."""
    return not is_limited(user) and decides_some(user)


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


def may_administer(user: Person) -> bool:
    """Return whether this person may manage people, keys, webhooks, notification rules and tools."""
    return user.has_perm(ADMINISTER)


def administrators() -> QuerySet[User]:
    """Return every active user who may administer."""
    return User.objects.with_perm(ADMINISTER, backend="django.contrib.auth.backends.ModelBackend")


def reads_record(user: Person) -> bool:
    """Return whether this person may read and export the audit log: all of it, so no one whom scopes limit."""
    return not is_limited(user) and user.has_perm(VIEW_RECORD)


def reads_scopes(user: Person) -> bool:
    """Return whether this person may read all approver scopes: who writes them, and who reads the record of them."""
    return may_administer(user) or reads_record(user)


def may_reveal(user: Person) -> bool:
    """Return whether this person may show the hidden values of the requests that they see."""
    return user.has_perm(REVEAL)


def _is(user: Person, user_id: int | None) -> bool:
    return user.is_active and user.pk is not None and user.pk == user_id


def may_see(user: Person, request: ApprovalRequest) -> bool:
    return sees_everything(user) or _is_own(user, request) or in_reach(user, request)


def may_see_workflow(user: Person, workflow: Workflow) -> bool:
    return sees_everything(user) or _is(user, workflow.owner_id)


def may_answer(user: Person, request: ApprovalRequest) -> bool:
    """Return whether this person may answer a question or a form."""
    return decides_everything(user) or _is_own(user, request) or _decides_in_reach(user, request, May.ANSWER)


def may_decide(user: Person, request: ApprovalRequest) -> bool:
    """Return whether this person may decide an approval or recovery; an assignee or requester does not get that right.

    With the control *confirm*, the person who runs the agent may decide its approvals, with *four eyes* they never may.
    """
    if request.control == Control.FOUR_EYES and is_interested(user, request):
        return False
    confirms = request.control == Control.CONFIRM and request.kind == Kind.APPROVAL and runs_agent(user, request)
    return confirms or decides_everything(user) or _decides_in_reach(user, request, May.DECIDE)


def runs_agent(user: Person, request: ApprovalRequest) -> bool:
    """Return whether this person, or a key of theirs, asked, or owns the work for which it was asked."""
    return any(_is(user, runner) for runner in request.runners)


def is_interested(user: Person, request: ApprovalRequest) -> bool:
    """Return whether this person runs the agent, or made the key that asked: four eyes means someone else."""
    return any(_is(user, each) for each in request.interested)


def may_change_input(user: Person, request: ApprovalRequest, change: Change) -> bool:
    """Return whether someone who may decide a request may do so with this changed input."""
    reach = scopes.reach_of(user)
    confirms = request.control == Control.CONFIRM and runs_agent(user, request)
    return reach is None or confirms or reach.allows(May.DECIDE, request, change)


def _decides_in_reach(user: Person, request: ApprovalRequest, may: May) -> bool:
    return user.has_perm(DECIDE) and in_reach(user, request, may)


def seats(user: Person, request: ApprovalRequest) -> tuple[int, ...]:
    """Return the ids of those for whom this person may vote on a request now, their own first (`policy.absence`)."""
    if isinstance(user, AnonymousUser):
        return ()
    # What one statement reads of a person includes whether they stand in for anyone, so it is asked for first.
    is_limited(user)
    return absence.seats(user.pk, standing_in.away_for(person_behind(user)), request.interested)


def decides_for(user: Person, request: ApprovalRequest, change: Change | None = None) -> int | None:
    """Return the id of the person in whose absence alone this one may end a request; None if they may in their own right."""
    reach = scopes.reach_of(user)
    if reach is None or (request.kind in ASKS and _is_own(user, request)):
        return None
    if request.control == Control.CONFIRM and request.kind == Kind.APPROVAL and runs_agent(user, request):
        return None
    return reach.seat(May.ANSWER if request.kind in ASKS else May.DECIDE, request, change)


def _is_own(user: Person, request: ApprovalRequest) -> bool:
    return _is(user, request.requested_by_id) or _is(user, request.assigned_to_id)


def may_close(user: Person, request: ApprovalRequest) -> bool:
    """Return whether this person may end the request with any verdict that fits its kind."""
    return may_answer(user, request) if request.kind in ASKS else may_decide(user, request)


def may_be_assigned(named: Named, request: ApprovalRequest) -> TypeGuard[User]:
    """Return whether this user may get the request: anyone a question, only its deciders an approval."""
    return named.is_active and (request.kind in ASKS or may_decide(named, request))


def asked_through_own_key(actor: Actor, request: ApprovalRequest) -> bool:
    """Return whether a key of the same user, or one that they made, asked this over the API: a program must not decide its
    own request.
    """
    from_outside = request.scope.startswith(KEY_SCOPE)
    return (
        isinstance(actor, KeyActor) and from_outside and actor.pk in {request.requested_by_id, request.key_made_by_id}
    )


def only_on_own_pages(request: ApprovalRequest) -> bool:
    """Return whether only the web pages may decide it: every recovery, and approvals for which people type a name."""
    return request.kind == Kind.RECOVERY or (request.kind == Kind.APPROVAL and wants_typed_name(request))


def wants_typed_name(request: ApprovalRequest) -> bool:
    """Return whether people type a name to approve it: if it is critical, or if its terms say so."""
    return request.priority == Priority.CRITICAL or bool(request.terms and request.terms.get("typed_name"))


def may_break_glass(user: Person, request: ApprovalRequest) -> bool:
    """Return whether this person may decide alone what the terms of a request leave to several people."""
    return user.has_perm(BREAK_GLASS) and may_decide(user, request)


def may_comment(user: Person, request: ApprovalRequest) -> bool:
    """Return whether this person may comment, also after the end: deciders, the requester and the assignee."""
    return may_close(user, request) or _is_own(user, request)


def may_resume(user: Person, request: ApprovalRequest) -> bool:
    """Return whether a program of this user made the request: agents of chats are resumed by Pausepoint itself."""
    return is_from_outside(request) and _is(user, request.requested_by_id)


def is_from_outside(request: ApprovalRequest) -> bool:
    """Return whether a program made the request through the API."""
    return request.scope.startswith((KEY_SCOPE, USER_SCOPE))


def may_cancel(user: Person, request: ApprovalRequest) -> bool:
    """Return whether this person may cancel a request: who asked, and who decides approvals as it is.

    What several people have to decide is not ended by one of them.
    """
    several = bool(request.terms and request.terms.get("stages"))
    return _is(user, request.requested_by_id) or (not several and may_decide(user, request))


def may_stop(user: Person, owner_id: int) -> bool:
    """Return whether this person may stop the work of an owner: the owner, and who decides everything."""
    return decides_everything(user) or _is(user, owner_id)
