"""The rules of the policy: what happens to a request before anyone looks at it. Pure.

The first rule that matches decides: it allows, it denies, or it asks people on its terms. Of some rules nobody can say whether
they match, because their condition cannot be evaluated, or a value has another type than they compare it with: they could match.
If a rule before the first that matches could match, nothing is allowed: the first that matches denies, or people are asked on the
terms of all these rules together. So no error and no value of another type lets through what a rule holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from approvals.policy.asks import PLAIN, Asking, join
from approvals.policy.conditions.cost import Size, size_of
from approvals.policy.conditions.equality import every
from approvals.policy.conditions.expressions import Budget, Expression
from approvals.policy.match import FACTS, Facts, Match
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


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule. The `ask` of one that allows or denies says how it asks if it only could match."""

    name: str
    match: Match
    then: Then
    when: Expression | None = None
    message: str = ""
    ask: Asking | None = None

    def may_fit(self, facts: Facts) -> bool:
        """Return whether the rule is about such requests at all: only approvals can be allowed or denied without people."""
        return (self.then == Then.ASK or facts.kind == Kind.APPROVAL) and self.match.fits_lists(facts)

    def matches(self, facts: RuleFacts, budget: Budget) -> bool | None:
        """Return whether it matches a request, of which `may_fit` is known; None if it could.

        The condition is not evaluated over what the match rules out, so it may rely on it.
        """
        input_matches = self.match.matches_input(facts.match)
        if input_matches is False or self.when is None:
            return input_matches
        return every([input_matches, _holds(self.when, facts, budget)])

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
    Why.CONDITION: Sentence(
        gettext_noop(
            "It is not certain which rule matches: a condition could not be evaluated, or a value has another type than a rule "
            "compares it with."
        )
    ),
    Why.CRITICAL: Sentence(
        gettext_noop("The rule does not name critical requests, which are allowed only by a rule that does.")
    ),
    Why.FILES: Sentence(gettext_noop("The call has files, of which rules say nothing, so no rule allows it.")),
    Why.STOPPED: Sentence(gettext_noop("Everything is asked at the moment, or the deadline had passed.")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the policy says about a request.

    `rule` is the rule that matches, or the first that could; None if none does. The `others` could match too, or the last of them
    does: people are asked on the terms of all.
    """

    then: Then = Then.ASK
    rule: Rule | None = None
    others: tuple[Rule, ...] = ()
    why: Why | None = None
    control: Control | None = None

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules on whose terms the request is decided."""
        return () if self.rule is None else (self.rule, *self.others)

    @property
    def askings(self) -> list[Asking]:
        """How each of these rules asks, if people are asked; at least one."""
        return [rule.ask or PLAIN for rule in self.rules] or [PLAIN]

    @property
    def asking(self) -> Asking:
        """How the request is asked, if it is."""
        return PLAIN if self.rule is None else join(self.askings)

    def control_with(self, control: str) -> str | None:
        """Return who decides an approval of a tool whose settings have this control."""
        return Control.FOUR_EYES if self.control == Control.FOUR_EYES else control or None


#: What no policy says.
UNRULED = Verdict()


def evaluate(policy: Policy, facts: RuleFacts) -> Verdict:
    """Return what the policy says about a request."""
    budget = Budget()
    possible = []
    for rule in policy.rules_for(facts.match):
        matches = rule.matches(facts, budget)
        if matches is None:
            possible.append(rule)
        elif matches:
            return _verdict(policy, facts, possible, rule)
    return _verdict(policy, facts, possible, None)


def _verdict(policy: Policy, facts: RuleFacts, possible: Sequence[Rule], rule: Rule | None) -> Verdict:
    """Return what the first rule that matches says, behind rules that could."""
    if rule is not None and rule.then == Then.DENY:
        return Verdict(then=Then.DENY, rule=rule)
    if possible:
        return _asked(policy, [*possible, rule], Why.CONDITION)
    if rule is None or rule.then == Then.ASK:
        return _asked(policy, [rule])
    why = _why_not_allowed(rule, facts)
    return Verdict(then=Then.ALLOW, rule=rule) if why is None else _asked(policy, [rule], why)


def _why_not_allowed(rule: Rule, facts: RuleFacts) -> Why | None:
    """Return why a rule that allows a request asks people in this case."""
    if not facts.may_allow:
        return Why.STOPPED
    if facts.has_files:
        return Why.FILES
    if facts.match.priority == Priority.CRITICAL and not rule.allows_critical:
        return Why.CRITICAL
    return None


def _holds(when: Expression, facts: RuleFacts, budget: Budget) -> bool | None:
    if when.reads_requester:
        return when.holds(facts.values_with_requester, facts.size_with_requester, budget)
    return when.holds(facts.values, facts.size, budget)


def _asked(policy: Policy, rules: Sequence[Rule | None], why: Why | None = None) -> Verdict:
    """Return that people are asked on the terms of these rules, of which the last is None if no rule matches."""
    named = [rule for rule in rules if rule is not None]
    # Where no rule matches, and for a rule that was not meant to ask, the policy itself says who decides.
    without = any(
        policy.four_eyes if rule is None or (rule.ask is None and rule.then != Then.ASK) else not _with_requester(rule)
        for rule in rules
    )
    control = Control.FOUR_EYES if without else None
    return Verdict(rule=named[0] if named else None, others=tuple(named[1:]), why=why, control=control)


def _with_requester(rule: Rule) -> bool:
    return (rule.ask or PLAIN).with_requester
