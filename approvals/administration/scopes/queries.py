"""Approver scopes in words, and a preview of their changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from approvals.access.rights import DECIDE, IGNORE_SCOPES, VIEW, holds
from approvals.access.scopes import Term
from approvals.administration.scopes.actions import ScopeTerms, terms_of
from approvals.db.cursors import number_from
from approvals.models import ApprovalRequest, ApproverScope
from approvals.models.policy.scopes import May
from approvals.policy.documents import match_from
from approvals.policy.match import Facts, Match, server_of
from approvals.policy.words import Names, requests_in_words
from approvals.queries.policy.scopes.matching import facts_of, scopes_with_members
from approvals.queries.policy.why_not import amount_words, why_unfit
from approvals.states import ASKS, Control, Kind, Status
from approvals.text.text import visible

#: Waiting requests (most urgent first) and people that a preview compares, and how many of each it lists.
COMPARED = 200
PEOPLE = 500
LISTED = 20


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """A scope and its terms in words."""

    scope: ApproverScope
    people: Sequence[str]
    teams: Sequence[str]
    words: str
    #: Teams through which it names the person of the page; empty if it names them directly.
    through: Sequence[str] = ()


def scopes() -> list[ScopeRow]:
    """Return all scopes by name."""
    return [_row(scope) for scope in scopes_with_members().order_by("name")]


def scopes_of_person(person: User) -> list[ScopeRow]:
    """Return the scopes that name a person or one of their teams, by name."""
    own = set(person.groups.values_list("name", flat=True))
    rows = [
        row
        for row in scopes()
        if person.get_username() in row.people or own & set(row.teams)
    ]
    return [
        row
        if person.get_username() in row.people
        else replace(row, through=sorted(own & set(row.teams)))
        for row in rows
    ]


def scopes_of_tool(tool: str) -> list[ScopeRow]:
    """Return the scopes that can match requests of a tool, by name."""
    facts = Facts(tool=tool, server=server_of(tool))

    def may_fit(match: Match) -> bool:
        return Match(tools=match.tools, servers=match.servers).fits(facts)

    return [row for row in scopes() if may_fit(match_from(row.scope.match))]


def _row(scope: ApproverScope) -> ScopeRow:
    people = [person.get_username() for person in scope.people.all()]
    teams = [team.name for team in scope.teams.all()]
    return ScopeRow(
        scope, people, teams, words_of(scope.may, scope.limit, match_from(scope.match))
    )


def words_of(may: str, limit: float | None, match: Match) -> str:
    """Return the rights that a scope gives, as a sentence."""
    sentences = {
        May.SEE: _("May see %(requests)s."),
        May.ANSWER: _(
            "May see %(requests)s, and answer questions and forms among them."
        ),
        May.DECIDE: _("May see, answer and decide %(requests)s."),
    }
    people = (
        User.objects.filter(pk__in=match.requesters).values_list("pk", "username")
        if match.requesters
        else ()
    )
    text = sentences[May(may)] % {
        "requests": requests_in_words(match, Names(people=dict(people)))
    }
    if limit is not None and may == May.DECIDE:
        text += " " + _("Approvals only up to an amount of %(limit)s.") % {
            "limit": amount_words(limit)
        }
    return text


def names_of_requesters(ids: Sequence[int]) -> list[str]:
    """Return usernames sorted by name; removed people appear as `#id`, which is not a valid username."""
    names = dict(
        User.objects.filter(pk__in=ids)
        .order_by("username")
        .values_list("pk", "username")
    )
    return [*names.values(), *(f"#{number}" for number in ids if number not in names)]


def removed_requester(name: str) -> int | None:
    """Return the id in a removed person's `#id`; None for a username."""
    return number_from(name.removeprefix("#")) if name.startswith("#") else None


@dataclass(frozen=True, slots=True)
class ScopeEffect:
    """How many of the compared requests a person sees and may decide, before and after."""

    name: str
    seen: tuple[int, int]
    decided: tuple[int, int]

    @property
    def gains(self) -> bool:
        return self.seen[1] > self.seen[0] or self.decided[1] > self.decided[0]

    @property
    def loses(self) -> bool:
        return self.seen[1] < self.seen[0] or self.decided[1] < self.decided[0]


@dataclass(frozen=True, slots=True)
class UndecidableRequest:
    """A waiting request that only superusers could decide, and why the changed scope does not help."""

    request: ApprovalRequest
    why: str


@dataclass(frozen=True, slots=True)
class ScopePreview:
    """People who gain or lose access to the compared waiting requests, and the requests left without a decider.

    `warning` names future requests without a decider, even if none are waiting.
    """

    compared: int
    changes: Sequence[ScopeEffect]
    undecidable: Sequence[UndecidableRequest]
    warning: str
    #: Whether the first scope is added or the last one removed.
    first: bool
    last: bool


@dataclass(frozen=True, slots=True)
class _Rule:
    match: Match
    term: Term
    members: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Holder:
    pk: int
    name: str
    decides: bool
    unlimited: bool


def preview(scope_id: int | None, terms: ScopeTerms | None) -> ScopePreview:
    """Return the effect of storing these terms in a scope, or of deleting it if `terms` is None."""
    stored = list(scopes_with_members().prefetch_related("teams__user_set"))
    before = [_rule(terms_of(scope), scope.pk) for scope in stored]
    after = [rule for rule in before if rule.term.scope != scope_id]
    if terms is not None:
        after.append(_rule(terms, 0))
    requests = list(_waiting())
    holders = _holders()
    then = _reached(before, requests, holders)
    now = _reached(after, requests, holders)
    changes = [
        ScopeEffect(
            holder.name,
            (len(then[holder.pk][0]), len(now[holder.pk][0])),
            (len(then[holder.pk][1]), len(now[holder.pk][1])),
        )
        for holder in holders
    ]
    decidable = set[int]().union(*(decided for _seen, decided in now.values()))
    left = [
        request
        for place, request in enumerate(requests)
        if place not in decidable and not _decided_by_asker(request)
    ]
    undecidable = [
        UndecidableRequest(request, _why(request, terms) if terms else "")
        for request in left[:LISTED]
    ]
    shown = [change for change in changes if change.gains or change.loses]
    return ScopePreview(
        len(requests),
        shown[: 2 * LISTED],
        undecidable,
        _warning(after, holders),
        not before,
        not after,
    )


def _why(request: ApprovalRequest, terms: ScopeTerms) -> str:
    """Return why no one could decide a request through a scope with these terms."""
    if unfit := why_unfit(terms.name, match_from(terms.match), facts_of(request)):
        return unfit
    term = Term(terms.may, terms.limit, 0)
    if term.may != May.DECIDE:
        text = _("“%(name)s” matches, but lets no one decide.")
    elif not term.allows(May.DECIDE, request.amount):
        text = _("“%(name)s” matches, but the amount is above its limit, or missing.")
    else:
        text = _("“%(name)s” matches, but none of the people it names may decide this.")
    return text % {"name": visible(terms.name)}


def _warning(rules: Sequence[_Rule], holders: Sequence[_Holder]) -> str:
    """Return a warning about requests that only superusers could decide under these scopes; empty if there are none."""
    if (
        any(holder.decides and (holder.unlimited or not rules) for holder in holders)
        or len(holders) == PEOPLE
    ):
        return ""
    deciders = {holder.pk for holder in holders if holder.decides}
    limits = [
        rule.term.limit
        for rule in rules
        if rule.term.may == May.DECIDE and rule.members & deciders
    ]
    if not limits:
        return _(
            "Only superusers could decide approvals: no scope lets people with a deciding role decide."
        )
    most = (
        None if None in limits else max(limit for limit in limits if limit is not None)
    )
    if most is None:
        return ""
    return _(
        "Only superusers could decide approvals above %(limit)s, or without an amount."
    ) % {"limit": amount_words(most)}


def _decided_by_asker(request: ApprovalRequest) -> bool:
    return request.kind in ASKS or (
        request.control == Control.CONFIRM and request.kind == Kind.APPROVAL
    )


def _waiting() -> QuerySet[ApprovalRequest]:
    waiting = ApprovalRequest.objects.filter(status=Status.PENDING).select_related(
        "workflow"
    )
    return waiting.order_by("urgency", "created_at", "id").defer(
        "said_before", "context", "message"
    )[:COMPARED]


def _holders() -> list[_Holder]:
    """Return the people with a right to see or decide requests, apart from scopes; superusers are not limited."""
    people = User.objects.filter(
        holds(DECIDE, "pk") | holds(VIEW, "pk"), is_active=True, is_superuser=False
    )
    rows = people.annotate(
        decides=holds(DECIDE, "pk"), ignores=holds(IGNORE_SCOPES, "pk")
    ).order_by("username")
    names = ("pk", "username", "decides", "ignores")
    return [_Holder(*row) for row in rows.values_list(*names)[:PEOPLE]]


def _rule(terms: ScopeTerms, pk: int) -> _Rule:
    members = {person.pk for person in terms.people}
    for team in terms.teams:
        members |= {person.pk for person in team.user_set.all()}
    return _Rule(
        match_from(terms.match), Term(terms.may, terms.limit, pk), frozenset(members)
    )


def _reached(
    rules: Sequence[_Rule],
    requests: Sequence[ApprovalRequest],
    holders: Sequence[_Holder],
) -> Mapping[int, tuple[set[int], set[int]]]:
    """Return the indexes of the requests that each holder sees, and of those they may decide."""
    reached: dict[int, tuple[set[int], set[int]]] = {
        holder.pk: (set(), set()) for holder in holders
    }
    for place, request in enumerate(requests):
        facts = facts_of(request)
        fitting = [rule for rule in rules if rule.match.fits(facts)]
        may = May.ANSWER if request.kind in ASKS else May.DECIDE
        runs = (
            request.interested if request.control == Control.FOUR_EYES else frozenset()
        )
        for holder in holders:
            free = holder.unlimited or not rules
            mine = [rule.term for rule in fitting if holder.pk in rule.members]
            seen, decided = reached[holder.pk]
            if free or mine:
                seen.add(place)
            if (
                holder.decides
                and holder.pk not in runs
                and (free or any(term.allows(may, request.amount) for term in mine))
            ):
                decided.add(place)
    return reached
