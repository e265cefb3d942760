"""Limit people's rights by approver scopes: docs/how-to/limit-who-may-approve.md.

Without any stored scope, no one is limited. With scopes, people with the right to see or decide all requests may do so only
where one of their scopes matches, unless they hold the right to ignore scopes. A scope never adds a right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from django.db.models import Exists, OuterRef, Q, QuerySet

from approvals.access import absence
from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Prepared, Values
from approvals.models import ApproverScope, ScopeSetMember
from approvals.models.policy.scopes import May


@dataclass(frozen=True, slots=True)
class Term:
    """The rights in one scope; with `seat`, through that absent person, who named this one as delegate."""

    may: str
    limit: float | None
    scope: int
    seat: int | None = None

    def allows(self, may: May, amount: float | None) -> bool:
        """Return whether this term allows `may` on a request of this amount; a missing amount exceeds every limit."""
        if _RANK[May(self.may)] < _RANK[may]:
            return False
        return (
            may != May.DECIDE
            or self.limit is None
            or (amount is not None and abs(amount) <= self.limit)
        )


_RANK = {May.SEE: 0, May.ANSWER: 1, May.DECIDE: 2}


@dataclass(frozen=True, slots=True)
class ChangedInput:
    """A changed input for scope checks: its amount, and the scopes matching the request that match this input too."""

    amount: float | None
    scopes: frozenset[int]


@dataclass(frozen=True, slots=True)
class NamedScope:
    """A scope that names a person or one of their teams. `match` is its stored document."""

    pk: int
    name: str
    match: Mapping[str, Any]
    may: str
    limit: float | None


class InScopes(Protocol):
    """The part of a request that approver scopes depend on."""

    @property
    def scope_set_id(self) -> int | None: ...

    @property
    def amount(self) -> float | None: ...

    @property
    def interested(self) -> frozenset[int]: ...


@dataclass(frozen=True, slots=True)
class Reach:
    """The requests that a person may reach through scopes: by scope set, the terms of their scopes in it.

    `own` are the scopes that name the person or one of their teams, by name, whether or not they match any request.
    """

    terms: Mapping[int, Collection[Term]] = field(default_factory=dict)
    person: int = 0
    own: Sequence[NamedScope] = ()

    @property
    def scope_sets(self) -> list[int]:
        """The scope sets whose requests a scope lets this person see."""
        return sorted(self.terms)

    def allows(
        self, may: May, request: InScopes, change: ChangedInput | None = None
    ) -> bool:
        """Return whether a scope of the person matches the request and its changed input, and allows `may` on both."""
        return any(True for _seat in self._seats(may, request, change))

    def seat(
        self, may: May, request: InScopes, change: ChangedInput | None = None
    ) -> int | None:
        """Return the absent person through whom `allows` holds; None if it holds for the person themselves, or not at all."""
        seats = set(self._seats(may, request, change))
        return (
            None
            if None in seats
            else min((seat for seat in seats if seat), default=None)
        )

    def _seats(
        self, may: May, request: InScopes, change: ChangedInput | None
    ) -> Iterator[int | None]:
        for term in self.terms.get(request.scope_set_id or 0, ()):
            if (
                term.allows(may, request.amount)
                and (
                    change is None
                    or (term.scope in change.scopes and term.allows(may, change.amount))
                )
                and (
                    term.seat is None
                    or may == May.SEE
                    or not self._runs_agent(request, term.seat)
                )
            ):
                yield term.seat

    def _runs_agent(self, request: InScopes, seat: int) -> bool:
        """Return whether the person or the one they stand in for runs the agent: four eyes also applies to delegates."""
        return not request.interested.isdisjoint({self.person, seat})


#: The reach of people without a matching scope.
NOWHERE = Reach()


def names(scopes: QuerySet[ApproverScope], person: Any) -> Q:
    """Return the condition that one of these scopes names the person with this id, or one of their teams."""
    own = ApproverScope.people.through._default_manager.filter(
        user=person, approverscope__in=scopes
    )
    teams = ApproverScope.teams.through._default_manager.filter(
        group__user=person, approverscope__in=scopes
    )
    return Q(Exists(own)) | Q(Exists(teams))


def names_absent(
    scopes: QuerySet[ApproverScope],
    person: Any,
    *,
    without: Collection[int] | Parameter = (),
) -> Q:
    """Return the condition that one of these scopes names someone whose current delegate is the person with this id.

    Neither of them may be in `without`.
    """
    absent = absence.delegations().filter(
        names(scopes, OuterRef("person")), delegate=person
    )
    left_out = Q(person__in=any_of(without, int)) | Q(delegate__in=any_of(without, int))
    return Q(Exists(absent.filter(~left_out)))


def fitting(scope_set: int | Parameter | None) -> Q:
    """Return the condition of scopes in a request's scope set."""
    return Q(pk__in=ScopeSetMember.objects.filter(scope_set=scope_set).values("scope"))


def allowing(scope_set: int | Parameter | None, amount: float | Parameter | None) -> Q:
    """Return the condition of scopes that match a request, by scope set and amount, and let people decide it."""
    within = Q(limit=None) if amount is None else Q(limit=None) | Q(limit__gte=amount)
    return fitting(scope_set) & Q(may=May.DECIDE) & within


def _naming(
    through: Any, person: str
) -> QuerySet[Any, tuple[int, int, str, Any, str, float | None]]:
    scope = ("pk", "name", "match", "may", "limit")
    rows = through._default_manager.filter(
        **{f"{person}__in": any_of(Parameter("people", Values()), int)}
    )
    columns = (f"approverscope__{name}" for name in scope)
    return rows.order_by().values_list(person, *columns)  # type: ignore[no-any-return]


#: The scopes that name these people or one of their teams.
_NAMING: Prepared[tuple[int, int, str, Any, str, float | None]] = Prepared(
    lambda: _naming(ApproverScope.people.through, "user").union(
        _naming(ApproverScope.teams.through, "group__user"), all=True
    )
)
#: The scope sets of these scopes.
_SETS: Prepared[tuple[int, int]] = Prepared(
    lambda: (
        ScopeSetMember.objects.filter(
            scope__in=any_of(Parameter("scopes", Values()), int)
        )
        .order_by("scope_set", "scope")
        .values_list("scope_set", "scope")
    )
)


def reaches_of(people: Mapping[int, Collection[int]]) -> dict[int, Reach]:
    """Return the reach of people who are limited by scopes, in two statements for any number of people.

    `people` maps each person to the ids of the absent people whose delegate they are.
    """
    seats = {seat for person, away in people.items() for seat in (person, *away)}
    naming: dict[int, dict[int, NamedScope]] = {seat: {} for seat in seats}
    for seat, pk, name, match, may, limit in _NAMING.all(people=sorted(seats)):
        naming[seat][pk] = NamedScope(pk, name, match, may, limit)
    sets: dict[int, list[int]] = {}
    for scope_set, pk in _SETS.all(scopes=sorted(set().union(*naming.values()))):
        sets.setdefault(pk, []).append(scope_set)
    return {
        person: _reach(person, away, naming, sets) for person, away in people.items()
    }


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
