"""What approver scopes leave of the rights of a person: docs/how-to/who-may-approve-what.md.

Without a stored scope, no one is limited. With scopes, whoever may see or decide all requests does so only where a scope of
theirs fits, unless they hold the right to ignore scopes. A scope never gives a right that the person does not hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from django.contrib.auth.models import AnonymousUser, Permission, User
from django.db.models import BigAutoField, Exists, OuterRef, Q, QuerySet, Value

from approvals.access import rights, standing_in
from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Prepared
from approvals.models import ApprovalRequest, ApproverScope, ScopeSetMember
from approvals.models.actors import Actor, person_behind
from approvals.models.policy.scopes import May


@dataclass(frozen=True, slots=True)
class Term:
    """What one scope allows; with `seat`, through that person, who is away and has named someone to decide for them."""

    may: str
    limit: float | None
    scope: int
    seat: int | None = None

    def allows(self, may: May, amount: float | None) -> bool:
        """Return whether this is enough to do so with a request of this amount; no amount is never within a limit."""
        if _RANK[May(self.may)] < _RANK[may]:
            return False
        return may != May.DECIDE or self.limit is None or (amount is not None and abs(amount) <= self.limit)


_RANK = {May.SEE: 0, May.ANSWER: 1, May.DECIDE: 2}


@dataclass(frozen=True, slots=True)
class Change:
    """What scopes are compared with of a changed input: its amount, and which of those that fit its request fit it too."""

    amount: float | None
    scopes: frozenset[int]


@dataclass(frozen=True, slots=True)
class Reach:
    """The requests that scopes leave a person: by scope set, what each of their scopes in it allows."""

    terms: Mapping[int, Collection[Term]] = field(default_factory=dict)
    person: int = 0

    def allows(self, may: May, request: ApprovalRequest, change: Change | None = None) -> bool:
        """Return whether one scope of the person that fits the request, and its changed input, allows this with both."""
        return any(True for _seat in self._seats(may, request, change))

    def seat(self, may: May, request: ApprovalRequest, change: Change | None = None) -> int | None:
        """Return for whom `allows` allows this: None for the person themselves, or if it does not."""
        seats = set(self._seats(may, request, change))
        return None if None in seats else min((seat for seat in seats if seat), default=None)

    def _seats(self, may: May, request: ApprovalRequest, change: Change | None) -> Iterator[int | None]:
        for term in self.terms.get(request.scope_set_id or 0, ()):
            if (
                term.allows(may, request.amount)
                and (change is None or (term.scope in change.scopes and term.allows(may, change.amount)))
                and (term.seat is None or may == May.SEE or not self._runs_agent(request, term.seat))
            ):
                yield term.seat

    def _runs_agent(self, request: ApprovalRequest, seat: int) -> bool:
        """Return whether the person or the one they stand in for runs the agent: four eyes stay four when someone is away."""
        return not request.interested.isdisjoint({self.person, seat})


#: The reach of people whom no scope fits.
NOWHERE = Reach()

#: The rights that calls ask for.
_RIGHTS = (rights.DECIDE, rights.VIEW, rights.VIEW_RECORD, rights.ADMINISTER, rights.IGNORE_SCOPES)
#: Stands among the rights of a person for that there are scopes.
_SCOPED = "."
#: Stands there for that the person stands in for someone.
_STANDS_IN = "absence."


def _held() -> QuerySet[Any, tuple[str, str]]:
    """Return which of the rights a person holds, whether there are scopes, and whether they stand in for anyone now.

    As one union, which is planned quickly.
    """
    app, names = "content_type__app_label", [right.partition(".")[2] for right in _RIGHTS]
    granted = Permission.objects.filter(codename__in=names).order_by().values_list(app, "codename")
    own, in_teams = (granted.filter(**{way: Parameter("pk", BigAutoField())}) for way in ("user", "group__user"))
    scoped = ApproverScope.objects.order_by().values_list(Value(""), Value(""))
    absences = standing_in.absences_with(Parameter("pk", BigAutoField()))
    return own.union(in_teams, scoped, absences.order_by().values_list(Value("absence"), Value(""))).order_by()


_HELD = Prepared(_held)


def names(scopes: QuerySet[ApproverScope] | OuterRef, person: Any) -> Q:
    """Return the condition that one of these scopes names the person with this id, or a team of theirs."""
    scope = {"approverscope" if isinstance(scopes, OuterRef) else "approverscope__in": scopes}
    own = ApproverScope.people.through._default_manager.filter(user=person, **scope)
    teams = ApproverScope.teams.through._default_manager.filter(group__user=person, **scope)
    return Q(Exists(own)) | Q(Exists(teams))


def names_absent(scopes: QuerySet[ApproverScope], person: Any, *, without: Collection[int] | Parameter = ()) -> Q:
    """Return the condition that one of these scopes names someone for whom the person with this id stands in now.

    Neither of them may be among those who are left out.
    """
    absent = standing_in.delegations().filter(names(scopes, OuterRef("person")), delegate=person)
    left_out = Q(person__in=any_of(without, int)) | Q(delegate__in=any_of(without, int))
    return Q(Exists(absent.filter(~left_out)))


def fitting(scope_set: int | Parameter | None) -> Q:
    """Return the condition of the scopes in the scope set of a request."""
    return Q(pk__in=ScopeSetMember.objects.filter(scope_set=scope_set).values("scope"))


def allowing(scope_set: int | Parameter | None, amount: float | Parameter | None) -> Q:
    """Return the condition of the scopes that fit a request, by its scope set and amount, and let people decide it."""
    within = Q(limit=None) if amount is None else Q(limit=None) | Q(limit__gte=amount)
    return fitting(scope_set) & Q(may=May.DECIDE) & within


_TERMS: Prepared[tuple[int, int, str, float | None]] = Prepared(
    lambda: (
        ScopeSetMember.objects.filter(names(OuterRef("scope"), Parameter("person", BigAutoField())))
        .values_list("scope_set", "scope", "scope__may", "scope__limit")
        .order_by("scope_set", "scope")
    )
)


def reach_of(person: Actor | AnonymousUser) -> Reach | None:
    """Return what scopes leave of the right to see or decide all requests; None if nothing limits it.

    Read once for each `User` that is read, which is once for each call, so that a change counts from the next one on.
    """
    if isinstance(person, AnonymousUser) or person.pk is None:
        return None
    user = person_behind(person)
    if not is_limited(user):
        return None
    reach: Reach | None = user.__dict__.get("_reach")
    if reach is None:
        reach = _read_reach(user) if user.has_perm(rights.DECIDE) or user.has_perm(rights.VIEW) else NOWHERE
        user.__dict__["_reach"] = reach
    return reach


def scopes_naming(person: Actor | AnonymousUser) -> list[ApproverScope]:
    """Return the scopes that name this person or a team of theirs, by name; read once, as the reach."""
    if isinstance(person, AnonymousUser):
        return []
    user = person_behind(person)
    own: list[ApproverScope] | None = user.__dict__.get("_own_scopes")
    if own is None:
        own = list(ApproverScope.objects.filter(names(OuterRef("pk"), user.pk)).order_by("name"))
        user.__dict__["_own_scopes"] = own
    return own


def _read_reach(user: User) -> Reach:
    terms: dict[int, list[Term]] = {}
    for seat in (None, *standing_in.away_for(user)):
        for scope_set, scope, may, limit in _TERMS.all(person=seat or user.pk):
            terms.setdefault(scope_set, []).append(Term(may, limit, scope, seat))
    return Reach(terms, user.pk)


def load_reach(users: Collection[User], *, scoped: bool, stand_in: Collection[int]) -> None:
    """Load what scopes leave of the rights of these users, whose permissions are loaded, in four statements at most.

    `stand_in` are those of them who stand in for someone.
    """
    for user in users:
        remember(user, limited=scoped and not user.has_perm(rights.IGNORE_SCOPES))
    limited = {user.pk: user for user in users if is_limited(user)}
    if not limited:
        return
    delegates = limited.keys() & {*stand_in}
    away = standing_in.away_for_each(delegates) if delegates else {}
    of_user: dict[int, set[int]] = {pk: set() for pk in {*limited, *chain.from_iterable(away.values())}}
    for through, person in ((ApproverScope.people.through, "user"), (ApproverScope.teams.through, "group__user")):
        named = through._default_manager.filter(**{f"{person}__in": any_of(of_user, int)})
        for pk, scope in named.values_list(person, "approverscope"):
            of_user[pk].add(scope)
    terms: dict[int, list[tuple[int, Term]]] = {}
    scopes = any_of(set[int]().union(*of_user.values()), int)
    rows = ScopeSetMember.objects.filter(scope__in=scopes).values_list(
        "scope_set", "scope", "scope__may", "scope__limit"
    )
    for scope_set, scope, may, limit in rows:
        terms.setdefault(scope, []).append((scope_set, Term(may, limit, scope)))
    for pk, user in limited.items():
        reach: dict[int, list[Term]] = {}
        if user.has_perm(rights.DECIDE) or user.has_perm(rights.VIEW):
            for seat in (None, *away.get(pk, ())):
                for scope_set, term in (pair for scope in sorted(of_user[seat or pk]) for pair in terms.get(scope, ())):
                    reach.setdefault(scope_set, []).append(replace(term, seat=seat) if seat else term)
        user.__dict__["_reach"] = Reach(reach, pk)


def forget(person: Actor | AnonymousUser) -> None:
    """Read the scopes of a limited person again when they are next asked for, as inside the transaction of a decision."""
    if not isinstance(person, AnonymousUser):
        user = person_behind(person)
        for name in ("_reach", "_own_scopes"):
            user.__dict__.pop(name, None)
        standing_in.forget(user)


def remember(user: User, *, limited: bool) -> None:
    """Let calls go by this, which was just read."""
    user.__dict__["_limited"] = limited and not user.is_superuser


def scope_sets_of(person: Actor | AnonymousUser) -> list[int]:
    """Return the scope sets whose requests a scope lets this person see; none for those whom nothing limits."""
    reach = reach_of(person)
    return [] if reach is None else sorted(reach.terms)


def in_scope(person: Actor | AnonymousUser, request: str = "") -> Q:
    """Return the condition of requests that a scope lets a limited person see; `request` is the way to them, if there is one."""
    return Q(**{f"{request}scope_set__in": any_of(scope_sets_of(person), int)})


def is_limited(user: User) -> bool:
    """Return whether scopes limit what this user may see and decide."""
    if not user.is_active or user.is_superuser:
        return False
    limited: bool | None = user.__dict__.get("_limited")
    if limited is None:
        limited = user.__dict__["_limited"] = _read_standing(user)
    return limited


def _read_standing(user: User) -> bool:
    held = {f"{app}.{name}" for app, name in _HELD.all(pk=user.pk)}
    standing_in.remember(user, stands_in=_STANDS_IN in held)
    if "_perm_cache" not in user.__dict__:
        rights.remember(user, {right: right in held for right in _RIGHTS})
    return _SCOPED in held and rights.IGNORE_SCOPES not in held
