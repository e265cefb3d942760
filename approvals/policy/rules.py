"""The rules of the policy: what happens to a request before anyone looks at it. Pure.

The first rule that fits decides: it allows, it denies, or it asks people on its terms. A condition that cannot be evaluated
makes its rule ask, whatever it says otherwise, and no later rule is looked at: an error never allows anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from approvals.policy.expression_cost import Size, size_of
from approvals.policy.expressions import Budget, Expression
from approvals.policy.match import FACTS, Facts, Match
from approvals.policy.terms import NO_TERMS, Reason, Terms
from approvals.states import Control, Kind, Priority
from approvals.text.translatable import Sentence, gettext_noop

#: Rules of a policy, and characters of their names and messages.
MAX_RULES, MAX_NAME, MAX_MESSAGE = 200, 100, 1_000
#: For so many days, an earlier rejection can answer the same call.
REPEAT_DAYS = 7
#: Kinds of requests for which a process remembers which rules may fit.
MAX_KEPT = 2_000


class Then(StrEnum):
    """What a rule does with a request that fits it."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


class AtDeadline(StrEnum):
    """What happens at the deadline: the request is rejected, or its default response is the answer, or the run is stopped."""

    REJECT = "reject"
    DEFAULT = "default"
    HALT = "halt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    after: int
    then: AtDeadline


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How a rule asks. Besides the terms that are kept with the request, it says what becomes of the request itself."""

    terms: Terms = NO_TERMS
    with_requester: bool = False
    deadline: Deadline | None = None
    priority: str = ""
    key_fields: tuple[str, ...] = ()

    @property
    def votes(self) -> int:
        """How many people have to approve, at least."""
        stages = [[group.votes for group in stage.groups] for stage in self.terms.stages]
        fewest = sum(
            min(votes) if stage.any else sum(votes) for stage, votes in zip(self.terms.stages, stages, strict=True)
        )
        return max(1, fewest)


PLAIN = Asking()


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule. The `ask` of one that allows or denies says how it asks if its condition cannot be evaluated."""

    name: str
    match: Match
    then: Then
    when: Expression | None = None
    message: str = ""
    ask: Asking | None = None

    def may_fit(self, facts: Facts) -> bool:
        """Return whether the rule is about such requests at all: only approvals can be allowed or denied without people."""
        return (self.then == Then.ASK or facts.kind == Kind.APPROVAL) and self.match.fits_lists(facts)

    @property
    def allows_critical(self) -> bool:
        return Priority.CRITICAL in self.match.priorities


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The rules in their order.

    With `four_eyes`, who runs the agent decides nothing that no rule speaks of. With `repeat_rejections`, the same call as one
    that a person has rejected is rejected again, where people would be asked.
    """

    rules: tuple[Rule, ...] = ()
    four_eyes: bool = False
    repeat_rejections: bool = False
    #: The rules that may fit, by all facts but the input: the same ones come again and again.
    _may_fit: dict[tuple[Any, ...], Sequence[Rule]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def rules_for(self, facts: Facts) -> Sequence[Rule]:
        """Return the rules that may fit a request, as far as that can be said without its input, in their order."""
        key = tuple(getattr(facts, name) for name in FACTS.values())
        rules = self._may_fit.get(key)
        if rules is None:
            if len(self._may_fit) >= MAX_KEPT:
                self._may_fit.clear()
            rules = self._may_fit[key] = [rule for rule in self.rules if rule.may_fit(facts)]
        return rules

    def rule(self, name: str) -> Rule | None:
        return next((rule for rule in self.rules if rule.name == name), None)


NO_POLICY = Policy()


@dataclass(frozen=True, slots=True)
class Requester:
    """Who asks: the username, and the names of their teams and roles."""

    name: str
    teams: Sequence[str] = ()
    roles: Sequence[str] = ()

    def document(self) -> dict[str, Any]:
        return {"name": self.name, "teams": list(self.teams), "roles": list(self.roles)}


@dataclass(frozen=True, kw_only=True)
class RuleFacts:
    """What is known of a request. `at` is when it was asked, in the time zone of the installation.

    `requester` is called for who asks only if a rule needs it.
    """

    match: Facts
    at: datetime
    requester: Callable[[], Requester]
    context: Any = None
    #: No rule says anything of files, so none allows a call that has some.
    has_files: bool = False
    #: False while everything has to be asked.
    may_allow: bool = True

    @cached_property
    def values(self) -> dict[str, Any]:
        """The facts of conditions, but for who asks."""
        names = ("tool", "agent", "kind", "source", "server", "priority")
        return {name: str(getattr(self.match, name)) for name in names} | {
            "input": dict(self.match.input),
            "context": self.context,
            "hour": self.at.hour,
            "weekday": self.at.isoweekday(),
            "now": self.at,
        }

    @cached_property
    def values_with_requester(self) -> dict[str, Any]:
        return self.values | {"requester": self.requester().document()}

    @cached_property
    def size(self) -> Size:
        names = ("tool", "agent", "server")
        return size_of(self.match.input, self.context, *(getattr(self.match, name) for name in names))

    @cached_property
    def size_with_requester(self) -> Size:
        return self.size + size_of(self.values_with_requester["requester"])


class Why(StrEnum):
    """Why a rule asks although it says something else, or more strictly than it says."""

    CONDITION = "condition"
    CRITICAL = "critical"
    FILES = "files"
    STOPPED = "stopped"


WHY: Mapping[Why, Sentence] = {
    Why.CONDITION: Sentence(gettext_noop("The condition of the rule could not be evaluated.")),
    Why.CRITICAL: Sentence(
        gettext_noop("The rule does not name critical requests, which are allowed only by a rule that does.")
    ),
    Why.FILES: Sentence(gettext_noop("The call has files, of which rules say nothing, so no rule allows it.")),
    Why.STOPPED: Sentence(gettext_noop("Everything is asked at the moment, or the deadline had passed.")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the policy says about a request. `rule` is the rule that fitted; None if none did."""

    then: Then = Then.ASK
    rule: Rule | None = None
    why: Why | None = None
    control: Control | None = None

    @property
    def asking(self) -> Asking:
        """How the request is asked, if it is."""
        return (self.rule.ask if self.rule is not None else None) or PLAIN

    @property
    def for_grants(self) -> bool:
        """Whether a grant may approve it: unless a rule said how people decide it, or could not say anything."""
        return self.why is None and not _is_special(self.asking.terms)


def evaluate(policy: Policy, facts: RuleFacts) -> Verdict:
    """Return what the policy says about a request."""
    budget = Budget()
    for rule in policy.rules_for(facts.match):
        if not rule.match.fits_input(facts.match):
            continue
        holds = True if rule.when is None else _holds(rule.when, facts, budget)
        if holds is None:
            return _asked(policy, rule, Why.CONDITION)
        if not holds:
            continue
        if rule.then == Then.ASK:
            return _asked(policy, rule)
        if rule.then == Then.ALLOW and not facts.may_allow:
            return _asked(policy, rule, Why.STOPPED)
        if rule.then == Then.ALLOW and facts.has_files:
            return _asked(policy, rule, Why.FILES)
        if rule.then == Then.ALLOW and facts.match.priority == Priority.CRITICAL and not rule.allows_critical:
            return _asked(policy, rule, Why.CRITICAL)
        return Verdict(then=rule.then, rule=rule)
    return Verdict(control=Control.FOUR_EYES if policy.four_eyes else None)


def _holds(when: Expression, facts: RuleFacts, budget: Budget) -> bool | None:
    if when.reads_requester:
        return when.holds(facts.values_with_requester, facts.size_with_requester, budget)
    return when.holds(facts.values, facts.size, budget)


def _asked(policy: Policy, rule: Rule, why: Why | None = None) -> Verdict:
    asking = rule.ask or (PLAIN if rule.then == Then.ASK else None)
    # A rule that was not meant to ask says nothing about who decides.
    without = policy.four_eyes if asking is None else not asking.with_requester
    return Verdict(rule=rule, why=why, control=Control.FOUR_EYES if without else None)


def _is_special(terms: Terms) -> bool:
    """Return whether terms say how people decide, which a grant would bypass."""
    return bool(terms.stages or terms.veto or terms.typed_name or terms.fresh_sign_in or terms.reason == Reason.ALWAYS)
