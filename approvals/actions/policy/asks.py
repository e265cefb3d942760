"""What the policy makes of an ask: the one way in. Pure.

`on_ask` goes through what may decide a request without asking anyone, in order: an earlier rejection of the same call, the rules,
and the grants. Whatever it needs is read before (`approvals.actions.asks.facts`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from approvals.asking.answers import ABSENT, Answer
from approvals.asking.asks import Ask, most_urgent
from approvals.db.canonical_json import utc
from approvals.models import Grant
from approvals.policy.asks import AtDeadline
from approvals.policy.grants import bar_of
from approvals.policy.rules import NO_POLICY, UNRULED, Policy, Then, Verdict
from approvals.queries.policy.repeats import Rejection
from approvals.queries.preferences import AskingRules
from approvals.record.amounts import amount_under
from approvals.states import ASKS, Kind, Priority
from approvals.states import Verdict as Decided

#: The comment of a call that a rule denies without a message of its own.
DENIED = "The rule “{name}” of the policy denies this."
#: The comment of a call that was rejected before.
REPEATED = "{name} rejected the same call on {at}{comment}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskTerms:
    """The terms on which a request is asked or decided, by the columns that hold them.

    `document` is that of `approvals.policy.terms`; None without any.
    """

    priority: Priority
    asked_priority: Priority | None
    control: str | None
    amount_pointer: str | None
    amount: float | None
    document: dict[str, Any] | None
    policy_version: int | None
    rule: str | None
    other_rules: list[str] | None
    deadline_at: datetime | None
    has_default: bool
    default_response: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFacts:
    """What the policy rules over: an ask at a moment, the settings of its tool, and what was read about it.

    `policy` is the live one, and `verdict` what its rules say. `earlier` is the latest rejection of the same call. `grants` cover
    the call, in the order in which they are used. `deciders` are those of their givers who may decide it; None if nothing
    limits that.
    """

    ask: Ask
    at: datetime
    settings: AskingRules
    policy: Policy = NO_POLICY
    verdict: Verdict = UNRULED
    earlier: Rejection | None = None
    grants: Sequence[Grant] = ()
    deciders: Collection[int] | None = None

    @property
    def may_repeat(self) -> bool:
        """Whether an earlier rejection of the same call would answer it.

        Not while the requester has a grant for the tool: someone may have changed their mind.
        """
        if self.ask.kind != Kind.APPROVAL or not self.ask.tool_name or self.ask.attachments:
            return False
        if self.verdict.then != Then.ASK or self.settings.asks_always or self.settings.granted:
            return False
        return self.policy.repeat_rejections

    @property
    def repeated(self) -> Rejection | None:
        """The earlier rejection that answers it."""
        return self.earlier if self.earlier is not None and self.may_repeat else None

    @property
    def may_be_granted(self) -> bool:
        """Whether a grant could approve it."""
        if not self.settings.granted:
            return False
        if bar_of(self.ask.kind, self.priority, self.ask.tool_name, verdict=self.verdict) is not None:
            return False
        deadline = self.deadline_at
        return deadline is None or deadline > self.at

    @property
    def usable_grants(self) -> Sequence[Grant]:
        """The grants that can approve it: whoever may not decide it cannot approve it by a grant either."""
        if not self.may_be_granted:
            return ()
        return [grant for grant in self.grants if self.deciders is None or grant.given_by_id in self.deciders]

    @property
    def followed(self) -> Verdict:
        """What the rules say, on whose terms it is asked: none if an earlier rejection answers it."""
        return self.verdict if self.repeated is None else UNRULED

    @property
    def priority(self) -> Priority:
        """Its priority: a rule can raise it."""
        return priority_of(self.followed, self.ask)

    @property
    def deadline_at(self) -> datetime | None:
        """When it expires: a rule can say that, but never later than who asks."""
        deadline = self.followed.asking.deadline
        if deadline is None:
            return self.ask.deadline_at
        at = self.at + timedelta(seconds=deadline.after)
        return at if self.ask.deadline_at is None else min(at, self.ask.deadline_at)

    @property
    def terms(self) -> AskTerms:
        """The terms on which it is asked or decided."""
        ask = self.ask
        verdict = self.followed
        asking = verdict.asking
        priority = self.priority
        pointer, amount = amount_under(verdict.askings, ask.input, self.settings.key_fields)
        control = self.settings.control or None
        if ask.kind not in ASKS:
            control = verdict.control_with(self.settings.control)
        default = ask.default
        if asking.deadline is not None and asking.deadline.then != AtDeadline.DEFAULT:
            default = ABSENT
        return AskTerms(
            priority=priority,
            asked_priority=ask.priority if priority != ask.priority else None,
            control=control,
            amount_pointer=pointer,
            amount=amount,
            document=asking.terms.document() or None,
            policy_version=self.settings.policy_version,
            rule=verdict.rule.name if verdict.rule is not None else None,
            other_rules=[rule.name for rule in verdict.others] or None,
            deadline_at=self.deadline_at,
            has_default=default is not ABSENT,
            default_response=None if default is ABSENT else default,
        )

    def without(self, lost: Grant) -> PolicyFacts:
        """Return these facts without a grant that could not be used after all."""
        return replace(self, grants=[grant for grant in self.grants if grant.pk != lost.pk])


@dataclass(frozen=True, slots=True)
class Asked:
    """People are asked. `why` says why, if a rule asks although it says something else."""

    why: str | None = None

    @property
    def record(self) -> dict[str, str]:
        """What the record keeps of that."""
        return {} if self.why is None else {"why_asked": self.why}


@dataclass(frozen=True, slots=True)
class Ruled:
    """It is decided at once, by a rule or as the earlier request `repeats` was."""

    answer: Answer
    repeats: UUID | None = None


@dataclass(frozen=True, slots=True)
class Granted:
    """This grant approves it, if it can still be used when it is written."""

    grant: Grant


#: What the policy makes of an ask.
PolicyOutcome = Asked | Ruled | Granted


def on_ask(facts: PolicyFacts) -> PolicyOutcome:
    """Return what the policy makes of an ask: the first step that says something decides, else people are asked."""
    for step in _STEPS:
        outcome = step(facts)
        if outcome is not None:
            return outcome
    why = facts.verdict.why
    return Asked(None if why is None else why.value)


def _as_rejected_before(facts: PolicyFacts) -> Ruled | None:
    earlier = facts.repeated
    if earlier is None:
        return None
    comment = f": {earlier.comment}" if earlier.comment else "."
    message = REPEATED.format(name=earlier.by_name, at=utc(earlier.at), comment=comment)
    return Ruled(Answer(Decided.REJECT, comment=message), repeats=earlier.request_id)


def _by_rule(facts: PolicyFacts) -> Ruled | None:
    answer = answer_of(facts.verdict)
    return None if answer is None else Ruled(answer)


def _by_grant(facts: PolicyFacts) -> Granted | None:
    grant = next(iter(facts.usable_grants), None)
    return None if grant is None else Granted(grant)


#: What may decide a request without asking anyone, in this order.
_STEPS: Sequence[Callable[[PolicyFacts], Ruled | Granted | None]] = (_as_rejected_before, _by_rule, _by_grant)


def answer_of(verdict: Verdict) -> Answer | None:
    """Return the decision that a rule makes; None if people are asked."""
    if verdict.then == Then.ASK or verdict.rule is None:
        return None
    if verdict.then == Then.ALLOW:
        return Answer(Decided.APPROVE)
    return Answer(Decided.REJECT, comment=verdict.rule.message or DENIED.format(name=verdict.rule.name))


def priority_of(verdict: Verdict, ask: Ask) -> Priority:
    """Return the priority of a request under a rule, which can raise it."""
    return most_urgent(ask.priority, verdict.asking.priority)
