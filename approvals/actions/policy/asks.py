"""Apply the policy to an ask: the only entry point. Pure.

`on_ask` tries each way to decide a request without asking anyone, in order: an earlier rejection of the same call, the rules, and
the grants. All facts are read before (`approvals.actions.asks.facts`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from approvals.asking.answers import ABSENT, Answer
from approvals.asking.asks import Ask, most_urgent
from approvals.db.canonical_json import utc
from approvals.models import Grant
from approvals.policy.asks import AtDeadline
from approvals.policy.grant_bars import bar_of
from approvals.policy.rules import NO_POLICY, UNRULED, Policy, PolicyVerdict, Then
from approvals.policy.terms import NO_TERMS
from approvals.queries.policy.rules.repeats import Rejection
from approvals.record.amounts import amount_under
from approvals.states import ASKS, Kind, Priority
from approvals.states import Verdict as Decided

#: The comment on a call denied by a rule without a message of its own.
DENIED = "The policy rule “{name}” denies this."
#: The comment on a call that was rejected before.
REPEATED = "{name} rejected the same call on {at}{comment}"


@dataclass(frozen=True, slots=True)
class AskingRules:
    """Settings for a new request of a tool: its minimum priority (empty for none), key and secret fields, control
    (`states.Control`), whether the requester has any grant for it, the version and digest of the live policy (null without any),
    whether *Ask about everything* is on, and the stamp of the scopes (`models.policy.scopes.stamp_of_scopes`, null without any).
    """

    min_priority: str = ""
    key_fields: Sequence[str] = ()
    secret_fields: Sequence[str] = ()
    control: str = ""
    granted: bool = False
    policy_version: int | None = None
    policy_digest: str = ""
    asks_always: bool = False
    scopes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskTerms:
    """The terms on which a request is made or decided, by column.

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
class AskPolicyFacts:
    """The facts for the policy: an ask at a moment, the settings of its tool, and further data about it.

    `policy` is the live one, and `verdict` the result of its rules. `earlier` is the latest rejection of the same call. `grants`
    cover the call, in the order of use. `deciders` are those of their givers who may decide it; None if nothing limits them.
    """

    ask: Ask
    at: datetime
    settings: AskingRules
    policy: Policy = NO_POLICY
    verdict: PolicyVerdict = UNRULED
    earlier: Rejection | None = None
    grants: Sequence[Grant] = ()
    deciders: Collection[int] | None = None

    @property
    def may_repeat(self) -> bool:
        """Whether an earlier rejection of the same call would answer it.

        Not while the requester has a grant for the tool: someone may have changed their mind.
        """
        if (
            self.ask.kind != Kind.APPROVAL
            or not self.ask.tool_name
            or self.ask.attachments
        ):
            return False
        if (
            self.verdict.then != Then.ASK
            or self.settings.asks_always
            or self.settings.granted
        ):
            return False
        return self.policy.repeat_rejections

    @property
    def repeated(self) -> Rejection | None:
        """The earlier rejection that answers it."""
        return self.earlier if self.may_repeat else None

    @property
    def may_be_granted(self) -> bool:
        """Whether a grant could approve it."""
        if not self.settings.granted:
            return False
        if (
            bar_of(
                self.ask.kind, self.priority, self.ask.tool_name, verdict=self.verdict
            )
            is not None
        ):
            return False
        deadline = self.deadline_at
        return deadline is None or deadline > self.at

    @property
    def usable_grants(self) -> Sequence[Grant]:
        """The grants that can approve it: a giver who may not decide it cannot approve it by a grant either."""
        if not self.may_be_granted:
            return ()
        return [
            grant
            for grant in self.grants
            if self.deciders is None or grant.given_by_id in self.deciders
        ]

    @property
    def followed(self) -> PolicyVerdict:
        """The verdict whose terms apply: none if an earlier rejection answers it."""
        return self.verdict if self.repeated is None else UNRULED

    @property
    def priority(self) -> Priority:
        """Its priority, possibly raised by a rule."""
        return priority_of(self.followed, self.ask)

    @property
    def deadline_at(self) -> datetime | None:
        """Its deadline: a rule can set it, but not later than the requester's."""
        deadline = self.followed.asking.deadline
        if deadline is None:
            return self.ask.deadline_at
        at = self.at + timedelta(seconds=deadline.after)
        return at if self.ask.deadline_at is None else min(at, self.ask.deadline_at)

    @property
    def terms(self) -> AskTerms:
        """The terms on which it is made or decided."""
        ask = self.ask
        verdict = self.followed
        asking = verdict.asking
        priority = self.priority
        pointer, amount = amount_under(
            verdict.askings, ask.input, self.settings.key_fields
        )
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
            document=None if asking.terms == NO_TERMS else asking.terms.document(),
            policy_version=self.settings.policy_version,
            rule=verdict.rule.name if verdict.rule is not None else None,
            other_rules=[rule.name for rule in verdict.others] or None,
            deadline_at=self.deadline_at,
            has_default=default is not ABSENT,
            default_response=None if default is ABSENT else default,
        )

    def without(self, lost: Grant) -> AskPolicyFacts:
        """Return these facts without a grant that turned out to be unusable."""
        return replace(
            self, grants=[grant for grant in self.grants if grant.pk != lost.pk]
        )


@dataclass(frozen=True, slots=True)
class AskedUnderRules:
    """People are asked. `why` is the reason if a rule asks instead of its own effect."""

    why: str | None = None

    @property
    def record(self) -> dict[str, str]:
        """The record's member about it."""
        return {} if self.why is None else {"why_asked": self.why}


@dataclass(frozen=True, slots=True)
class Ruled:
    """It is decided at once, by a rule or like the earlier request `repeats`."""

    answer: Answer
    repeats: UUID | None = None


@dataclass(frozen=True, slots=True)
class Granted:
    """This grant approves it, if it can still be used when it is written."""

    grant: Grant


#: The policy's outcome for an ask.
PolicyOutcome = AskedUnderRules | Ruled | Granted


def on_ask(facts: AskPolicyFacts) -> PolicyOutcome:
    """Return the policy's outcome for an ask: an earlier rejection of the same call decides it, a rule, or a grant.

    If none does, people are asked.
    """
    earlier = facts.repeated
    if earlier is not None:
        return Ruled(
            Answer(Decided.REJECT, comment=_words_of(earlier)),
            repeats=earlier.request_id,
        )
    answer = answer_of(facts.verdict)
    if answer is not None:
        return Ruled(answer)
    grant = next(iter(facts.usable_grants), None)
    if grant is not None:
        return Granted(grant)
    why = facts.verdict.why
    return AskedUnderRules(None if why is None else why.value)


def _words_of(earlier: Rejection) -> str:
    comment = f": {earlier.comment}" if earlier.comment else "."
    return REPEATED.format(name=earlier.by_name, at=utc(earlier.at), comment=comment)


def answer_of(verdict: PolicyVerdict) -> Answer | None:
    """Return the decision that a rule makes; None if people are asked."""
    if verdict.then == Then.ASK or verdict.rule is None:
        return None
    if verdict.then == Then.ALLOW:
        return Answer(Decided.APPROVE)
    return Answer(
        Decided.REJECT,
        comment=verdict.rule.message or DENIED.format(name=verdict.rule.name),
    )


def priority_of(verdict: PolicyVerdict, ask: Ask) -> Priority:
    """Return the priority of a request under a rule, which can raise it."""
    return most_urgent(ask.priority, verdict.asking.priority)
