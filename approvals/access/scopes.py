"""What approver scopes leave of the rights of a person: docs/how-to/who-may-approve-what.md.

Without a stored scope, no one is limited. With scopes, whoever may see or decide all requests does so only where a scope of
theirs fits, unless they hold the right to ignore scopes. A scope never gives a right that the person does not hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from approvals.access import standing_in
from approvals.db.many import Values, any_of
from approvals.db.prepared import Parameter, Prepared
from approvals.models import ApprovalRequest, ApproverScope, ScopeSetMember
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
class NamedScope:
    """A scope that names a person or a team of theirs. `match` is its stored document."""

    pk: int
    name: str
    match: Mapping[str, Any]
    may: str
    limit: float | None


@dataclass(frozen=True, slots=True)
class Reach:
    """The requests that scopes leave a person: by scope set, what each of their scopes in it allows.

    `own` are the scopes that name the person or a team of theirs, by name, whether or not they fit any request.
    """

    terms: Mapping[int, Collection[Term]] = field(default_factory=dict)
    person: int = 0
    own: Sequence[NamedScope] = ()

    @property
    def scope_sets(self) -> list[int]:
        """The scope sets whose requests a scope lets this person see."""
        return sorted(self.terms)

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


def _naming(through: Any, person: str) -> QuerySet[Any, tuple[int, int, str, Any, str, float | None]]:
    scope = ("pk", "name", "match", "may", "limit")
    rows = through._default_manager.filter(**{f"{person}__in": any_of(Parameter("people", Values()), int)})
    columns = (f"approverscope__{name}" for name in scope)
    return rows.order_by().values_list(person, *columns)  # type: ignore[no-any-return]


#: The scopes that name these people, or a team of theirs.
_NAMING: Prepared[tuple[int, int, str, Any, str, float | None]] = Prepared(
    lambda: _naming(ApproverScope.people.through, "user").union(
        _naming(ApproverScope.teams.through, "group__user"), all=True
    )
)
_SETS: Prepared[tuple[int, int]] = Prepared(
    lambda: (
        ScopeSetMember.objects.filter(scope__in=any_of(Parameter("scopes", Values()), int))
        .order_by("scope_set", "scope")
        .values_list("scope_set", "scope")
    )
)


def reaches_of(people: Mapping[int, Collection[int]]) -> dict[int, Reach]:
    """Return what scopes leave of the rights of people whom they limit, in two statements for any number of people.

    Each person comes with the ids of those for whom they stand in.
    """
    seats = {seat for person, away in people.items() for seat in (person, *away)}
    naming: dict[int, dict[int, NamedScope]] = {seat: {} for seat in seats}
    for seat, pk, name, match, may, limit in _NAMING.all(people=sorted(seats)):
        naming[seat][pk] = NamedScope(pk, name, match, may, limit)
    sets: dict[int, list[int]] = {}
    for scope_set, pk in _SETS.all(scopes=sorted(set().union(*naming.values()))):
        sets.setdefault(pk, []).append(scope_set)
    return {person: _reach(person, away, naming, sets) for person, away in people.items()}


def _reach(
    person: int,
    away: Collection[int],
    naming: Mapping[int, Mapping[int, NamedScope]],
    sets: Mapping[int, Collection[int]],
) -> Reach:
    terms: dict[int, list[Term]] = {}
    for seat in (person, *away):
        absent = None if seat == person else seat
        for pk, scope in sorted(naming[seat].items()):
            term = Term(scope.may, scope.limit, pk, absent)
            for scope_set in sets.get(pk, ()):
                terms.setdefault(scope_set, []).append(term)
    own = sorted(naming[person].values(), key=lambda scope: scope.name)
    return Reach(terms, person, tuple(own))
