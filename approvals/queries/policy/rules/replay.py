"""Replay a policy over the requests of the last days, and compare it with their outcomes.

Each request is evaluated with its original input, context, priority (before any rule raised it) and time. Only the requester's
teams and roles are the current ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Case as Sql
from django.db.models import F, Q, Value, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from approvals.access.standing import Standing
from approvals.asking.asks import WORDS_PER_SECOND
from approvals.policy.rules import (
    AskedBecause,
    Policy,
    PolicyVerdict,
    Requester,
    Rule,
    RuleFacts,
    Then,
    evaluate,
)
from approvals.queries.attention.people import by_keys, by_people
from approvals.queries.policy.rules.facts import reader_of_requesters, rule_facts
from approvals.queries.policy.rules.policy_versions import HAS_FILES
from approvals.queries.requests import requests_for
from approvals.states import Door
from approvals.states import Verdict as Decided
from approvals.text.secrets import mask_text

#: Maximum requests replayed, newest first; requests per read; cases kept per kind.
MOST = 100_000
CHUNK = 2_000
KEPT = 50
#: Maximum cases listed per figure, and the name of the figure of requests for which a rule was undetermined.
LISTED = 200
UNCLEAR = "unclear"
#: Seconds to look at a request besides reading it.
SECONDS_TO_DECIDE = 10
MAX_DAYS = 366
#: The verdict of a policy with `repeat_rejections` on a call that was rejected before.
REPEATED = PolicyVerdict(then=Then.DENY)


class Worry(StrEnum):
    """Why someone should look at a case, worst first."""

    ALLOWED_REJECTED = "allowed_rejected"
    ALLOWED_CHANGED = "allowed_changed"
    #: Rejected or changed by a program with an API key.
    ALLOWED_REFUSED_BY_KEY = "allowed_refused_by_key"
    DENIED_APPROVED = "denied_approved"
    ASKED_AGAIN = "asked_again"


class _Row(NamedTuple):
    pk: UUID
    created_at: datetime
    title: str
    agent: str
    tool: str
    kind: str
    source: str
    requester: int
    on_behalf_of: str
    priority: str
    input: Any
    context: Any
    words: int | None
    verdict: str | None
    by_person: bool
    by_key: bool
    via: str | None
    decided_at: datetime | None
    repeats: UUID | None
    has_files: bool

    @property
    def automatic(self) -> bool:
        return self.via in {Door.RULE, Door.GRANT}

    @property
    def seconds(self) -> float:
        """The time that a person needs for it, in seconds."""
        return SECONDS_TO_DECIDE + (self.words or 0) / WORDS_PER_SECOND


_COLUMNS = (
    "pk",
    "created_at",
    "title",
    "agent",
    "tool_name",
    "kind",
    "workflow__source",
    "requested_by_id",
    "on_behalf_of",
)
_ASKED = (
    "input",
    "context",
    "words",
    "decision__verdict",
    "by_person",
    "by_key",
    "decision__via",
    "decision__decided_at",
    "repeats",
    "has_files",
)


@dataclass(frozen=True, slots=True)
class ReplayedRequest:
    """A request, its outcome, and the policy's verdict."""

    pk: UUID
    created_at: datetime
    title: str
    tool: str
    kind: str
    #: Its verdict; empty if it is pending.
    verdict: str
    then: Then
    rules: Sequence[str]
    why: AskedBecause | None


@dataclass(slots=True)
class RuleCount:
    """The outcomes of the requests that a rule matches; `rule` is None for requests without a matching rule."""

    rule: Rule | None
    number: int
    then: Counter[str] = field(default_factory=Counter)
    #: How many of these were asked because it was uncertain which rule matches.
    unclear: int = 0

    @property
    def total(self) -> int:
        return sum(self.then.values())

    @property
    def figures(self) -> Mapping[str, tuple[str, int]]:
        """Each figure of the rule with its name and its count."""
        counts = {str(then): self.then[then] for then in Then} | {UNCLEAR: self.unclear}
        return {what: (self.figure(what), number) for what, number in counts.items()}

    def figure(self, what: str) -> str:
        """Return the name of the figure for an effect of the rule, or for `UNCLEAR`."""
        return f"{self.number}:{what}"


class Figure(StrEnum):
    """A figure of a replay that does not belong to a rule."""

    SAVED = "saved"
    ADDED = "added"


@dataclass(slots=True)
class Times:
    """Seconds of people's time, and the number of requests."""

    seconds: float = 0
    requests: int = 0

    def add(self, seconds: float) -> None:
        self.seconds += seconds
        self.requests += 1


@dataclass(slots=True)
class Replay:
    """The result of a replay. `complete` is false if there were more requests than are replayed.

    `saved` are decisions of people that would not have been needed, `added` those that would have been; `waited` is the agents'
    total wait for the former, in seconds. `cases` has the latest requests of each worry, and `listed` those of the selected
    figure, a `Figure` or one of a rule.
    """

    since: datetime
    total: int = 0
    complete: bool = True
    rules: dict[str | None, RuleCount] = field(default_factory=dict)
    worries: Counter[Worry] = field(default_factory=Counter)
    cases: dict[Worry, list[ReplayedRequest]] = field(default_factory=dict)
    saved: Times = field(default_factory=Times)
    added: Times = field(default_factory=Times)
    waited: float = 0
    figure: str = ""
    listed: list[ReplayedRequest] = field(default_factory=list)
    #: The number of requests in the figure; the latest of them are listed.
    listed_of: int = 0

    @property
    def net(self) -> float:
        """The seconds that people would have saved; negative if they would have needed more."""
        return self.saved.seconds - self.added.seconds

    def of(self, then: Then) -> int:
        """Return how many requests it would have allowed, denied or asked."""
        return sum(count.then[then] for count in self.rules.values())


def replay(
    policy: Policy,
    viewer: Standing,
    *,
    days: int,
    most: int = MOST,
    figure: str = "",
    before: Policy | None = None,
) -> Replay:
    """Replay a policy over the requests of the last days that this person may see.

    With the latest cases of a `figure`: a `Figure`, or one of a rule (`RuleCount.figure`). Worries that the policy `before` gives
    as well are left out.
    """
    done = Replay(since=timezone.now() - timedelta(days=days), figure=figure)
    rules: list[Rule | None] = [*policy.rules, None]
    counts = [RuleCount(rule, number) for number, rule in enumerate(rules)]
    done.rules = {
        None if count.rule is None else count.rule.name: count for count in counts
    }
    who = reader_of_requesters()
    for row, verdict in judged(policy, viewer, since=done.since, most=most + 1):
        if done.total == most:
            done.complete = False
            break
        done.total += 1
        worry = _worry(row, verdict)
        if worry is not None and before is not None:
            known = _worry(row, _verdict(before, row, who))
            worry = None if known == worry else worry
        _count(done, row, verdict, worry)
    return done


def judged(
    policy: Policy, viewer: Standing, *, since: datetime, most: int
) -> Iterator[tuple[_Row, PolicyVerdict]]:
    """Yield the requests since a moment, newest first, each with the policy's verdict."""
    requests = (
        requests_for(viewer)
        .filter(created_at__gte=since)
        .order_by("-created_at", "-id")
    )
    asked_with = Coalesce(F("asked_priority"), F("priority"))
    known_of = {"asked_with": asked_with, "has_files": HAS_FILES}
    known_of |= {
        "by_person": _flag(by_people("decision__")),
        "by_key": _flag(by_keys("decision__")),
    }
    rows = requests.annotate(**known_of).values_list(*_COLUMNS, "asked_with", *_ASKED)[
        :most
    ]
    who = reader_of_requesters()
    for columns in rows.iterator(chunk_size=CHUNK):
        row = _Row(*columns)
        yield row, _verdict(policy, row, who)


def _verdict(
    policy: Policy, row: _Row, who: Callable[[int], Requester]
) -> PolicyVerdict:
    verdict = evaluate(policy, _facts(row, who))
    # A repeated rejection is repeated again. Other repeats are not looked up.
    repeats = row.repeats and policy.repeat_rejections and verdict.then == Then.ASK
    return REPEATED if repeats else verdict


def _flag(condition: Q) -> Sql:
    return Sql(When(condition, then=Value(True)), default=Value(False))


def _facts(row: _Row, who: Callable[[int], Requester]) -> RuleFacts:
    return rule_facts(
        agent=row.agent,
        tool=row.tool,
        kind=row.kind,
        source=row.source,
        requester=row.requester,
        on_behalf_of=row.on_behalf_of,
        priority=row.priority,
        value=row.input,
        context=row.context,
        at=row.created_at,
        who=lambda: who(row.requester),
        has_files=row.has_files,
    )


def _count(
    done: Replay, row: _Row, verdict: PolicyVerdict, worry: Worry | None
) -> None:
    count = done.rules[verdict.rule.name if verdict.rule is not None else None]
    count.then[verdict.then] += 1
    unclear = verdict.why == AskedBecause.CONDITION
    count.unclear += unclear
    figures = {count.figure(verdict.then)}
    if unclear:
        figures.add(count.figure(UNCLEAR))
    figures |= _count_time(done, row, verdict)
    if worry is not None:
        done.worries[worry] += 1
        kept = done.cases.setdefault(worry, [])
        if len(kept) < KEPT:
            kept.append(_case(row, verdict))
    if done.figure in figures:
        done.listed_of += 1
        if len(done.listed) < LISTED:
            done.listed.append(_case(row, verdict))


def _count_time(done: Replay, row: _Row, verdict: PolicyVerdict) -> set[str]:
    """Count the people's time that a case saves or takes, and return the figures that it belongs to."""
    asks = verdict.then == Then.ASK
    if row.by_person and not asks:
        done.saved.add(row.seconds)
        if row.decided_at is not None:
            done.waited += (row.decided_at - row.created_at).total_seconds()
        return {Figure.SAVED}
    # One person has decided it on its original terms.
    people = verdict.asking.votes - row.by_person
    if asks and people > 0 and (row.automatic or row.by_person):
        done.added.add(row.seconds * people)
        return {Figure.ADDED}
    return set()


def _case(row: _Row, verdict: PolicyVerdict) -> ReplayedRequest:
    rules = [rule.name for rule in verdict.rules]
    title = mask_text(row.title)
    return ReplayedRequest(
        row.pk,
        row.created_at,
        title,
        row.tool,
        row.kind,
        row.verdict or "",
        verdict.then,
        rules,
        verdict.why,
    )


def _worry(row: _Row, verdict: PolicyVerdict) -> Worry | None:
    match (verdict.then, row.verdict):
        case (Then.ALLOW, Decided.REJECT) if row.by_person:
            return Worry.ALLOWED_REJECTED
        case (Then.ALLOW, Decided.EDIT) if row.by_person:
            return Worry.ALLOWED_CHANGED
        case (Then.ALLOW, Decided.REJECT | Decided.EDIT) if row.by_key:
            return Worry.ALLOWED_REFUSED_BY_KEY
        case (Then.DENY, Decided.APPROVE | Decided.EDIT):
            return Worry.DENIED_APPROVED
        case (Then.ASK, Decided.APPROVE | Decided.REJECT) if row.automatic:
            return Worry.ASKED_AGAIN
    return None
