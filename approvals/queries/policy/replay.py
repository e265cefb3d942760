"""What a policy would have done to the requests of the last days, compared with what happened to them.

Each request is evaluated as it was asked: with its input, its context, its priority before any rule raised it, and the hour of
that day. Only the teams and roles of who asked are those of today.
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
from approvals.asking.reading_time import WORDS_PER_SECOND
from approvals.policy.rules import Policy, Requester, Rule, RuleFacts, Then, Verdict, Why, evaluate
from approvals.queries.attention.people import by_keys, by_people
from approvals.queries.policy.ruling import HAS_FILES, reader_of_requesters, rule_facts
from approvals.queries.requests import requests_for
from approvals.states import Door
from approvals.states import Verdict as Decided
from approvals.text.secrets import mask_text

#: Requests that are replayed at most, the newest first; those that are read at once; cases of one kind that are kept.
MOST, CHUNK, KEPT = 100_000, 2_000, 50
#: Cases of a figure that are listed, and its name for requests of which a rule could say nothing.
LISTED, UNCLEAR = 200, "unclear"
#: Seconds to look at a request besides reading it.
SECONDS_TO_DECIDE = 10
MAX_DAYS = 366
#: What a policy with `repeat_rejections` says of a call that was rejected as before.
REPEATED = Verdict(then=Then.DENY)


class Worry(StrEnum):
    """Why someone should look at a case, the worst first."""

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
        """How long a person needs for it."""
        return SECONDS_TO_DECIDE + (self.words or 0) / WORDS_PER_SECOND


_COLUMNS = ("pk", "created_at", "title", "agent", "tool_name", "kind", "workflow__source", "requested_by_id")
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
class Case:
    """A request, what happened to it, and what the policy would have done."""

    pk: UUID
    created_at: datetime
    title: str
    tool: str
    kind: str
    #: How it ended; empty if it waits.
    verdict: str
    then: Then
    rules: Sequence[str]
    why: Why | None


@dataclass(slots=True)
class RuleCount:
    """What became of the requests that a rule would have fitted; `rule` is None for those that none would have."""

    rule: Rule | None
    number: int
    then: Counter[str] = field(default_factory=Counter)
    #: Of these, how many asked because it was not certain which rule matches.
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
        """Return the name of the figure of what the rule would have done, or of `UNCLEAR`."""
        return f"{self.number}:{what}"


class Figure(StrEnum):
    """A figure of a replay that is not one of a rule."""

    SAVED = "saved"
    ADDED = "added"


@dataclass(slots=True)
class Times:
    """Seconds of people, of so many requests."""

    seconds: float = 0
    requests: int = 0

    def add(self, seconds: float) -> None:
        self.seconds += seconds
        self.requests += 1


@dataclass(slots=True)
class Replay:
    """What a policy would have done. `complete` is false if there were more requests than are replayed.

    `saved` are decisions of people that would not have been needed, `added` those that would have been; `waited` is how many
    seconds agents waited for the first. `cases` has the latest requests of each worry, and `listed` those of the figure that
    was asked for, a `Figure` or one of a rule.
    """

    since: datetime
    total: int = 0
    complete: bool = True
    rules: dict[str | None, RuleCount] = field(default_factory=dict)
    worries: Counter[Worry] = field(default_factory=Counter)
    cases: dict[Worry, list[Case]] = field(default_factory=dict)
    saved: Times = field(default_factory=Times)
    added: Times = field(default_factory=Times)
    waited: float = 0
    figure: str = ""
    listed: list[Case] = field(default_factory=list)
    #: How many requests the figure counts; the latest of them are listed.
    listed_of: int = 0

    @property
    def net(self) -> float:
        """The seconds that people would have needed less; negative if they would have needed more."""
        return self.saved.seconds - self.added.seconds

    def of(self, then: Then) -> int:
        """Return how many requests it would have allowed, denied or asked."""
        return sum(count.then[then] for count in self.rules.values())


def replay(policy: Policy, viewer: Standing, *, days: int, most: int = MOST, figure: str = "") -> Replay:
    """Return what a policy would have done to the requests of the last days, of those that this person may see.

    With the latest cases of a `figure`: a `Figure`, or one of a rule (`RuleCount.figure`).
    """
    done = Replay(since=timezone.now() - timedelta(days=days), figure=figure)
    rules: list[Rule | None] = [*policy.rules, None]
    counts = [RuleCount(rule, number) for number, rule in enumerate(rules)]
    done.rules = {None if count.rule is None else count.rule.name: count for count in counts}
    for row, verdict in judged(policy, viewer, since=done.since, most=most + 1):
        if done.total == most:
            done.complete = False
            break
        done.total += 1
        _count(done, row, verdict)
    return done


def judged(policy: Policy, viewer: Standing, *, since: datetime, most: int) -> Iterator[tuple[_Row, Verdict]]:
    """Yield the requests since a moment, the newest first, each with what a policy says about it."""
    requests = requests_for(viewer).filter(created_at__gte=since).order_by("-created_at", "-id")
    asked_with = Coalesce(F("asked_priority"), F("priority"))
    known_of = {"asked_with": asked_with, "has_files": HAS_FILES}
    known_of |= {"by_person": _flag(by_people("decision__")), "by_key": _flag(by_keys("decision__"))}
    rows = requests.annotate(**known_of).values_list(*_COLUMNS, "asked_with", *_ASKED)[:most]
    who = reader_of_requesters()
    for columns in rows.iterator(chunk_size=CHUNK):
        row = _Row(*columns)
        verdict = evaluate(policy, _facts(row, who))
        # What an earlier rejection answered is answered by it again. Which others it would answer is not looked up.
        yield row, REPEATED if row.repeats and policy.repeat_rejections and verdict.then == Then.ASK else verdict


def _flag(condition: Q) -> Sql:
    return Sql(When(condition, then=Value(True)), default=Value(False))


def _facts(row: _Row, who: Callable[[int], Requester]) -> RuleFacts:
    return rule_facts(
        agent=row.agent,
        tool=row.tool,
        kind=row.kind,
        source=row.source,
        requester=row.requester,
        priority=row.priority,
        value=row.input,
        context=row.context,
        at=row.created_at,
        who=lambda: who(row.requester),
        has_files=row.has_files,
    )


def _count(done: Replay, row: _Row, verdict: Verdict) -> None:
    count = done.rules[verdict.rule.name if verdict.rule is not None else None]
    count.then[verdict.then] += 1
    unclear = verdict.why == Why.CONDITION
    count.unclear += unclear
    figures = {count.figure(verdict.then)}
    if unclear:
        figures.add(count.figure(UNCLEAR))
    figures |= _count_time(done, row, verdict)
    worry = _worry(row, verdict)
    if worry is not None:
        done.worries[worry] += 1
        kept = done.cases.setdefault(worry, [])
        if len(kept) < KEPT:
            kept.append(_case(row, verdict))
    if done.figure in figures:
        done.listed_of += 1
        if len(done.listed) < LISTED:
            done.listed.append(_case(row, verdict))


def _count_time(done: Replay, row: _Row, verdict: Verdict) -> set[str]:
    """Count the time of people that a case saves or takes, and return the figure that it belongs to."""
    asks = verdict.then == Then.ASK
    if row.by_person and not asks:
        done.saved.add(row.seconds)
        if row.decided_at is not None:
            done.waited += (row.decided_at - row.created_at).total_seconds()
        return {Figure.SAVED}
    # One person has decided it as it was.
    people = verdict.asking.votes - row.by_person
    if asks and people > 0 and (row.automatic or row.by_person):
        done.added.add(row.seconds * people)
        return {Figure.ADDED}
    return set()


def _case(row: _Row, verdict: Verdict) -> Case:
    rules = [rule.name for rule in verdict.rules]
    title = mask_text(row.title)
    return Case(row.pk, row.created_at, title, row.tool, row.kind, row.verdict or "", verdict.then, rules, verdict.why)


def _worry(row: _Row, verdict: Verdict) -> Worry | None:
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
