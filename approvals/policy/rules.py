"""The rules of the policy, which are applied before people see a request. Pure.

The first rule that matches decides: it allows, denies, or asks people on its terms. A rule *could match* if its condition cannot
be evaluated, or if a value has another type than the rule compares it with. If an earlier rule than the first match could match,
nothing is allowed: the first match denies, or people are asked on the combined terms of all these rules. So neither errors nor
values of another type get past a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from approvals.json_types import JsonDict
from approvals.policy.asks import PLAIN, Asking, join
from approvals.policy.conditions.cost import Size, size_of
from approvals.policy.conditions.equality import every
from approvals.policy.conditions.expressions import Expression, StepBudget
from approvals.policy.match import FACTS, Facts, Match
from approvals.states import Control, Kind, Priority
from approvals.text.translatable import Sentence, gettext_noop

#: Maximum number of rules, and length of their names and messages.
MAX_RULES = 200
MAX_NAME = 100
MAX_MESSAGE = 1_000
#: For this many days, an earlier rejection can answer the same call.
REPEAT_DAYS = 7
#: Combinations of facts for which a process caches the rules that may match.
MAX_KEPT = 2_000


class Then(StrEnum):
    """The effect of a matching rule."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule. An `ask` on a rule that allows or denies is used if the rule only could match."""

    name: str
    match: Match
    then: Then
    when: Expression | None = None
    message: str = ""
    ask: Asking | None = None

    def may_fit(self, facts: Facts) -> bool:
        """Return whether the rule applies to this kind of request: only approvals can be allowed or denied without people."""
        return (
            self.then == Then.ASK or facts.kind == Kind.APPROVAL
        ) and self.match.fits_lists(facts)

    def matches(self, facts: RuleFacts, budget: StepBudget) -> bool | None:
        """Return whether the rule matches a request for which `may_fit` holds; None if it could.

        The condition is evaluated only if the match does not fail, so it may rely on it.
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
    """The rules in order.

    With `four_eyes`, the person who runs the agent cannot decide requests without a matching rule. With `repeat_rejections`, a
    call that a person has rejected is rejected again where people would be asked.
    """

    rules: tuple[Rule, ...] = ()
    four_eyes: bool = False
    repeat_rejections: bool = False
    #: Rules that may match, cached by all facts except the input, since the same facts recur.
    _may_fit: dict[tuple[Any, ...], Sequence[Rule]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def rules_for(self, facts: Facts) -> Sequence[Rule]:
        """Return the rules that may match a request, judged without its input, in order."""
        key = tuple(getattr(facts, name) for name in FACTS.values())
        rules = self._may_fit.get(key)
        if rules is None:
            if len(self._may_fit) >= MAX_KEPT:
                self._may_fit.clear()
            rules = self._may_fit[key] = [
                rule for rule in self.rules if rule.may_fit(facts)
            ]
        return rules

    def rule(self, name: str) -> Rule | None:
        return next((rule for rule in self.rules if rule.name == name), None)


NO_POLICY = Policy()


@dataclass(frozen=True, slots=True)
class Requester:
    """The requester: username, teams and roles."""

    name: str
    teams: Sequence[str] = ()
    roles: Sequence[str] = ()

    def document(self) -> JsonDict:
        return {"name": self.name, "teams": list(self.teams), "roles": list(self.roles)}


@dataclass(frozen=True, kw_only=True)
class RuleFacts:
    """The facts of a request. `at` is the time of the request, in the time zone of the installation.

    `requester` is a function, called only if a rule needs the requester.
    """

    match: Facts
    at: datetime
    requester: Callable[[], Requester]
    context: Any = None
    #: Rules cannot test files, so no rule allows a call with files.
    has_files: bool = False
    #: False while everything has to be asked.
    may_allow: bool = True

    @cached_property
    def values(self) -> JsonDict:
        """The facts for conditions, except the requester."""
        names = [name for name in FACTS.values() if name != "requester"]
        return {name: str(getattr(self.match, name)) for name in names} | {
            "input": dict(self.match.input),
            "context": self.context,
            "hour": self.at.hour,
            "weekday": self.at.isoweekday(),
            "now": self.at,
        }

    @cached_property
    def values_with_requester(self) -> JsonDict:
        return self.values | {"requester": self.requester().document()}

    @cached_property
    def size(self) -> Size:
        names = ("tool", "agent", "server", "on_behalf_of")
        return size_of(
            self.match.input,
            self.context,
            *(getattr(self.match, name) for name in names),
        )

    @cached_property
    def size_with_requester(self) -> Size:
        return self.size + size_of(self.values_with_requester["requester"])


class AskedBecause(StrEnum):
    """Why a rule asks instead of its own effect, or more strictly."""

    CONDITION = "condition"
    CRITICAL = "critical"
    FILES = "files"
    STOPPED = "stopped"


WHY: Mapping[AskedBecause, Sentence] = {
    AskedBecause.CONDITION: Sentence(
        gettext_noop(
            "It is not certain which rule matches: a condition could not be evaluated, or a value does not "
            "have the type that a rule expects."
        )
    ),
    AskedBecause.CRITICAL: Sentence(
        gettext_noop(
            "The rule does not name critical requests. Only a rule that names them can allow them."
        )
    ),
    AskedBecause.FILES: Sentence(
        gettext_noop(
            "The call has files, which rules do not cover, so no rule allows it."
        )
    ),
    AskedBecause.STOPPED: Sentence(
        gettext_noop("“Ask about everything” was on, or the deadline had passed.")
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVerdict:
    """The policy's verdict on a request.

    `rule` is the matching rule, or the first one that could match; None if there is none. The `others` could match too, or the
    last of them matches: people are asked on the combined terms.
    """

    then: Then = Then.ASK
    rule: Rule | None = None
    others: tuple[Rule, ...] = ()
    why: AskedBecause | None = None
    control: Control | None = None

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules whose terms apply to the request."""
        return () if self.rule is None else (self.rule, *self.others)

    @property
    def askings(self) -> list[Asking]:
        """The ways of asking of these rules, if people are asked; at least one."""
        return [rule.ask or PLAIN for rule in self.rules] or [PLAIN]

    @property
    def asking(self) -> Asking:
        """The combined way of asking, if people are asked."""
        # Without a policy there is nothing to join.
        return PLAIN if self.rule is None else join(self.askings)

    def control_with(self, control: str) -> str | None:
        """Return the control over an approval of a tool whose settings have this one."""
        return (
            Control.FOUR_EYES if self.control == Control.FOUR_EYES else control or None
        )


#: The verdict without a policy.
UNRULED = PolicyVerdict()


def evaluate(policy: Policy, facts: RuleFacts) -> PolicyVerdict:
    """Return the policy's verdict on a request."""
    budget = StepBudget()
    possible = []
    for rule in policy.rules_for(facts.match):
        matches = rule.matches(facts, budget)
        if matches is None:
            possible.append(rule)
        elif matches:
            return _verdict(policy, facts, possible, rule)
    return _verdict(policy, facts, possible, None)


def _verdict(
    policy: Policy, facts: RuleFacts, possible: Sequence[Rule], rule: Rule | None
) -> PolicyVerdict:
    """Return the verdict of the first matching rule, given the earlier rules that could match."""
    if rule is not None and rule.then == Then.DENY:
        return PolicyVerdict(then=Then.DENY, rule=rule)
    if possible:
        return _asked(policy, [*possible, rule], AskedBecause.CONDITION)
    if rule is None or rule.then == Then.ASK:
        return _asked(policy, [rule])
    why = _why_not_allowed(rule, facts)
    return (
        PolicyVerdict(then=Then.ALLOW, rule=rule)
        if why is None
        else _asked(policy, [rule], why)
    )


def _why_not_allowed(rule: Rule, facts: RuleFacts) -> AskedBecause | None:
    """Return why a rule that allows a request must ask people in this case; None if it may allow it."""
    if not facts.may_allow:
        return AskedBecause.STOPPED
    if facts.has_files:
        return AskedBecause.FILES
    if facts.match.priority == Priority.CRITICAL and not rule.allows_critical:
        return AskedBecause.CRITICAL
    return None


def _holds(when: Expression, facts: RuleFacts, budget: StepBudget) -> bool | None:
    if when.reads_requester:
        return when.holds(
            facts.values_with_requester, facts.size_with_requester, budget
        )
    return when.holds(facts.values, facts.size, budget)


def _asked(
    policy: Policy, rules: Sequence[Rule | None], why: AskedBecause | None = None
) -> PolicyVerdict:
    """Return a verdict that asks people on the terms of these rules; the last one is None if no rule matches."""
    named = [rule for rule in rules if rule is not None]
    # Without a matching rule, or for a rule not meant to ask, the policy's own setting applies.
    without = any(
        policy.four_eyes
        if rule is None or (rule.ask is None and rule.then != Then.ASK)
        else not _with_requester(rule)
        for rule in rules
    )
    control = Control.FOUR_EYES if without else None
    return PolicyVerdict(
        rule=named[0] if named else None,
        others=tuple(named[1:]),
        why=why,
        control=control,
    )


def _with_requester(rule: Rule) -> bool:
    return (rule.ask or PLAIN).with_requester
