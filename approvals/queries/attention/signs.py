"""Signs that someone decides without looking: faster than one can read, and long series with parts left unopened.

Only decisions on the pages of Pausepoint count: of those made elsewhere, no one knows what was shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import F, QuerySet
from django.utils import timezone

from approvals.asking.reading_time import WORDS_PER_SECOND
from approvals.models import Decision
from approvals.queries.insights.values import percent
from approvals.states import OWN_PAGES

#: How many decisions are read at most: of one person, and of everyone together.
LIMIT, LIMIT_OF_ALL = 1_000, 20_000
#: Decisions that follow one another within this time were made together, after one look.
TOGETHER = timedelta(seconds=1)
#: As long a series of approvals with unopened parts is a sign.
SERIES = 5
#: How many of the last decisions the line below the Inbox goes by, and how long it says so.
RECENT, FRESH = 20, timedelta(minutes=10)
#: The share of hasty decisions, in percent, and the number of decisions, from which a person counts as hasty in a sum.
HASTY, ENOUGH = 50, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A decision that someone made on a page. `unseen` counts the parts that were never in view; None where none could be."""

    by_id: int
    decided_at: datetime
    requested_at: datetime
    words: int | None
    unseen: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many decisions there were, and how many of them show signs.

    `hasty` of the `readable` were made in less time than it takes to read the request: from the decision before it, or from the
    request if that came later. `unseen` of the `approvals` left parts unopened.
    """

    decided: int = 0
    readable: int = 0
    hasty: int = 0
    approvals: int = 0
    unseen: int = 0

    @property
    def hasty_rate(self) -> int | None:
        return percent(self.hasty, self.readable)

    @property
    def unseen_rate(self) -> int | None:
        return percent(self.unseen, self.approvals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs(Counts):
    """What one person's decisions say about how they were made.

    `series` and `longest` are the last and the longest series of approvals with unopened parts.
    """

    series: int = 0
    longest: int = 0
    #: Seconds that the last decision took, and that reading its request takes; None unless it was hasty.
    last_hasty: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignsOfAll(Counts):
    """The signs of everyone together, without names: sums, and how many people show them."""

    people: int
    #: How many people decide faster than they can read more often than not, and how many had a long series.
    hasty_people: int
    series_people: int
    capped: bool


def signs_of(made: Iterable[Made]) -> Signs:
    """Return the signs of one person's decisions, oldest first."""
    decided = readable = hasty = approvals = unseen = series = longest = 0
    previous: datetime | None = None
    last: tuple[float, float] | None = None
    for each in made:
        decided, last = decided + 1, None
        together = previous is not None and each.decided_at - previous < TOGETHER
        if each.words is not None and not together:
            since = max(each.requested_at, previous or each.requested_at)
            taken = max((each.decided_at - since).total_seconds(), 0.0)
            reading = each.words / WORDS_PER_SECOND
            readable += 1
            if taken < reading:
                hasty, last = hasty + 1, (taken, reading)
        if each.unseen is not None:
            approvals += 1
            unseen += bool(each.unseen)
            series = series + 1 if each.unseen else 0
            longest = max(longest, series)
        previous = each.decided_at
    return Signs(
        decided=decided,
        readable=readable,
        hasty=hasty,
        approvals=approvals,
        unseen=unseen,
        series=series,
        longest=longest,
        last_hasty=last,
    )


def decisions_of(person: User, *, limit: int = LIMIT) -> QuerySet[Decision]:
    """Return the decisions that a person made on the pages, newest first, by the index of their name."""
    own = Decision.objects.filter(by_name=person.get_username(), by_id=person.pk)
    return _on_pages(own).order_by("-decided_at", "-request")[:limit]


def own_signs(person: User, *, since: datetime, limit: int = LIMIT) -> Signs:
    """Return the signs of a person's latest decisions since then."""
    return signs_of(reversed([made for made in _made(decisions_of(person, limit=limit)) if made.decided_at >= since]))


def decided_today(person: User) -> int:
    """Return how many decisions a person made on the pages since midnight in their time zone; at most LIMIT."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    own = Decision.objects.filter(by_name=person.get_username(), by_id=person.pk, decided_at__gte=midnight)
    return _on_pages(own).order_by("-decided_at", "-request")[:LIMIT].count()


def signs_of_all(*, since: datetime) -> SignsOfAll:
    """Return the signs of everyone's decisions since then, of the latest LIMIT_OF_ALL."""
    latest = _on_pages(Decision.objects.filter(decided_at__gte=since, by_id__isnull=False))
    rows = _made(latest.order_by("-decided_at", "-id")[:LIMIT_OF_ALL])
    by_person: dict[int, list[Made]] = {}
    for made in reversed(rows):
        by_person.setdefault(made.by_id, []).append(made)
    signs = [signs_of(own) for own in by_person.values()]
    return SignsOfAll(
        people=len(signs),
        decided=sum(each.decided for each in signs),
        readable=sum(each.readable for each in signs),
        hasty=sum(each.hasty for each in signs),
        approvals=sum(each.approvals for each in signs),
        unseen=sum(each.unseen for each in signs),
        hasty_people=sum(each.readable >= ENOUGH and (each.hasty_rate or 0) >= HASTY for each in signs),
        series_people=sum(each.longest >= SERIES for each in signs),
        capped=len(rows) == LIMIT_OF_ALL,
    )


def _on_pages(decisions: QuerySet[Decision]) -> QuerySet[Decision]:
    return decisions.filter(via__in=sorted(OWN_PAGES), grant__isnull=True)


def _made(decisions: QuerySet[Decision]) -> Sequence[Made]:
    rows = decisions.values_list("by_id", "decided_at", F("request__created_at"), F("request__words"), "unseen")
    return [
        Made(by_id=by_id, decided_at=decided_at, requested_at=requested_at, words=words, unseen=unseen)
        for by_id, decided_at, requested_at, words, unseen in rows
        if by_id is not None
    ]
