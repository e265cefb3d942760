"""What a policy would have done to the requests of the last days, compared with what happened to them.

Each request is evaluated as it was asked: with its input, its context, its priority before any rule raised it, and the hour of
that day. Only the teams and roles of who asked are those of today.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.auth.models import Group, User
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils import timezone

from approvals.access.permissions import Person
from approvals.asking.reading_time import WORDS_PER_SECOND
from approvals.policy.rules import Policy, Requester, Rule, RuleFacts, Then, Verdict, Why, evaluate
from approvals.queries.policy.ruling import HAS_FILES, rule_facts
from approvals.queries.requests import requests_for
from approvals.states import Door
from approvals.states import Verdict as Decided
from approvals.text.secrets import mask_text

#: Requests that are replayed at most, the newest first; those that are read at once; cases of one kind that are kept.
MOST, CHUNK, KEPT = 100_000, 2_000, 50
#: Seconds to look at a request besides reading it.
SECONDS_TO_DECIDE = 10
MAX_DAYS = 366
#: What a policy with `repeat_rejections` says of a call that was rejected as before.
REPEATED = Verdict(then=Then.DENY)


class Worry(StrEnum):
    """Why someone should look at a case, the worst first."""

    ALLOWED_REJECTED = "allowed_rejected"
    ALLOWED_CHANGED = "allowed_changed"
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
    by_id: int | None
    via: str | None
    decided_at: datetime | None
    repeats: UUID | None
    has_files: bool

    @property
    def by_person(self) -> bool:
        """Whether a person has looked at it and decided."""
        return self.by_id is not None and self.via != Door.GRANT and self.verdict != Decided.CANCEL

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
    "decision__by_id",
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
    then: Counter[str] = field(default_factory=Counter)
    #: Of these, how many asked because it was not certain which rule matches.
    unclear: int = 0

    @property
    def total(self) -> int:
        return sum(self.then.values())


@dataclass(slots=True)
class Replay:
    """What a policy would have done. `complete` is false if there were more requests than are replayed.

    `saved` and `added` are seconds of people: of the decisions that would not have been needed, and of those that would have
    been. `waited` is how long agents waited for the first.
    """

    since: datetime
    total: int = 0
    complete: bool = True
    rules: dict[str | None, RuleCount] = field(default_factory=dict)
    worries: Counter[Worry] = field(default_factory=Counter)
    cases: dict[Worry, list[Case]] = field(default_factory=dict)
    saved: float = 0
    added: float = 0
    waited: float = 0

    def of(self, then: Then) -> int:
        """Return how many requests it would have allowed, denied or asked."""
        return sum(count.then[then] for count in self.rules.values())


def replay(policy: Policy, user: Person, *, days: int, most: int = MOST) -> Replay:
    """Return what a policy would have done to the requests of the last days, of those that this person may see."""
    done = Replay(since=timezone.now() - timedelta(days=days))
    done.rules = {rule.name: RuleCount(rule) for rule in policy.rules} | {None: RuleCount(None)}
    requesters: dict[int, Requester] = {}
    for row, verdict in judged(policy, user, since=done.since, most=most + 1, requesters=requesters):
        if done.total == most:
            done.complete = False
            break
        done.total += 1
        _count(done, row, verdict)
    return done


def judged(
    policy: Policy, user: Person, *, since: datetime, most: int, requesters: dict[int, Requester] | None = None
) -> Iterator[tuple[_Row, Verdict]]:
    """Yield the requests since a moment, the newest first, each with what a policy says about it."""
    requests = requests_for(user).filter(created_at__gte=since).order_by("-created_at", "-id")
    asked_with = Coalesce(F("asked_priority"), F("priority"))
    rows = requests.annotate(asked_with=asked_with, has_files=HAS_FILES).values_list(*_COLUMNS, "asked_with", *_ASKED)[
        :most
    ]
    known: dict[int, Requester] = {} if requesters is None else requesters
    for columns in rows.iterator(chunk_size=CHUNK):
        row = _Row(*columns)
        verdict = evaluate(policy, _facts(row, known))
        # What an earlier rejection answered is answered by it again. Which others it would answer is not looked up.
        yield row, REPEATED if row.repeats and policy.repeat_rejections and verdict.then == Then.ASK else verdict


def _facts(row: _Row, requesters: dict[int, Requester]) -> RuleFacts:
    def who() -> Requester:
        if not requesters:
            requesters.update(_all_requesters())
        return requesters.get(row.requester) or Requester("")

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
        who=who,
        has_files=row.has_files,
    )


def _all_requesters() -> Mapping[int, Requester]:
    """Return everyone with their teams and roles, in two statements."""
    teams: dict[int, list[str]] = {}
    roles: dict[int, list[str]] = {}
    members = Group.objects.order_by("name").exclude(user=None).values_list("user", "name", "role__name")
    for user, name, role in members:
        (teams if role is None else roles).setdefault(user, []).append(name if role is None else role)
    people = User.objects.values_list("pk", "username")
    return {pk: Requester(name, teams.get(pk, ()), roles.get(pk, ())) for pk, name in people}


def _count(done: Replay, row: _Row, verdict: Verdict) -> None:
    count = done.rules[verdict.rule.name if verdict.rule is not None else None]
    count.then[verdict.then] += 1
    count.unclear += verdict.why == Why.CONDITION
    asks = verdict.then == Then.ASK
    if row.by_person and not asks:
        done.saved += row.seconds
        if row.decided_at is not None:
            done.waited += (row.decided_at - row.created_at).total_seconds()
    elif row.automatic and asks:
        done.added += row.seconds * verdict.asking.votes
    elif row.by_person:
        # One person has decided it as it was.
        done.added += row.seconds * (verdict.asking.votes - 1)
    worry = _worry(row, verdict)
    if worry is None:
        return
    done.worries[worry] += 1
    kept = done.cases.setdefault(worry, [])
    if len(kept) < KEPT:
        rules = [rule.name for rule in verdict.rules]
        title = mask_text(row.title)
        kept.append(
            Case(row.pk, row.created_at, title, row.tool, row.kind, row.verdict or "", verdict.then, rules, verdict.why)
        )


def _worry(row: _Row, verdict: Verdict) -> Worry | None:
    match (verdict.then, row.verdict):
        case (Then.ALLOW, Decided.REJECT):
            return Worry.ALLOWED_REJECTED
        case (Then.ALLOW, Decided.EDIT):
            return Worry.ALLOWED_CHANGED
        case (Then.DENY, Decided.APPROVE | Decided.EDIT):
            return Worry.DENIED_APPROVED
        case (Then.ASK, Decided.APPROVE | Decided.REJECT) if row.automatic:
            return Worry.ASKED_AGAIN
    return None
