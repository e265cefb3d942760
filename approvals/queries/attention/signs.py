"""Signs of careless decisions: faster than reading, and long series with unopened parts.

Only decisions on the pages of Pausepoint count (`people.on_pages`), since the displayed input is unknown elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone

from approvals.models import Decision
from approvals.queries.attention.people import Made, made, on_pages
from approvals.queries.insights.values import percent

#: Maximum decisions that are read: of one person, and of everyone together.
LIMIT = 1_000
LIMIT_OF_ALL = 20_000
#: Days covered by *How you decide*.
DAYS = 30
#: A series of this many approvals with unopened parts counts as a sign.
SERIES = 5
#: How many of the last decisions the line below the Inbox is based on, and how long it is shown.
RECENT = 20
FRESH = timedelta(minutes=10)
#: The share of hasty decisions, in percent, and the number of decisions, from which a person counts as hasty in a sum.
HASTY = 50
ENOUGH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The number of decisions, and how many of them show signs.

    `hasty` of the `readable` were faster than reading (`Made.is_hasty`). `unseen` of the `approvals` left parts unopened.
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
    """The signs in one person's decisions.

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
    #: How many people decide most often faster than they can read, and how many had a long series.
    hasty_people: int
    series_people: int
    capped: bool


def signs_of(decisions: Iterable[Made]) -> Signs:
    """Return the signs of one person's decisions, oldest first."""
    decided = readable = hasty = approvals = unseen = series = longest = 0
    last: tuple[float, float] | None = None
    for each in decisions:
        decided += 1
        readable += each.is_readable
        hasty += each.is_hasty
        last = (each.taken or 0.0, each.reading or 0.0) if each.is_hasty else None
        if each.unseen is not None:
            approvals += 1
            unseen += bool(each.unseen)
            series = series + 1 if each.unseen else 0
            longest = max(longest, series)
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


def longest_series(decisions: Sequence[Made]) -> Sequence[Made]:
    """Return the longest series of approvals with unopened parts in one person's decisions; on a tie, the first."""
    longest: list[Made] = []
    series: list[Made] = []
    for each in decisions:
        if each.unseen is not None:
            series = [*series, each] if each.unseen else []
        if len(series) > len(longest):
            longest = series
    return longest


def decisions_of(person: User, *, limit: int = LIMIT) -> QuerySet[Decision]:
    """Return a person's decisions on the pages, newest first, by the index of their name."""
    own = Decision.objects.filter(
        on_pages(), by_name=person.get_username(), by_id=person.pk
    )
    return own.order_by("-decided_at", "-request")[:limit]


def own_signs(person: User, *, since: datetime, limit: int = LIMIT) -> Signs:
    """Return the signs of a person's latest decisions since then."""
    return signs_of(reversed(own_decisions(person, since=since, limit=limit)))


def own_decisions(
    person: User, *, since: datetime, limit: int = LIMIT
) -> Sequence[Made]:
    """Return a person's latest decisions since then, newest first."""
    return [
        each
        for each in made(decisions_of(person, limit=limit))
        if each.decided_at >= since
    ]


def decided_today(person: User) -> int:
    """Return how many decisions a person made on the pages since midnight in their time zone; at most LIMIT."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    own = Decision.objects.filter(
        on_pages(),
        by_name=person.get_username(),
        by_id=person.pk,
        decided_at__gte=midnight,
    )
    return own.order_by("-decided_at", "-request")[:LIMIT].count()


def signs_of_all(*, since: datetime) -> SignsOfAll:
    """Return the signs of everyone's decisions since then, of the latest LIMIT_OF_ALL."""
    latest = Decision.objects.filter(on_pages(), decided_at__gte=since)
    rows = list(made(latest.order_by("-decided_at", "-id")[:LIMIT_OF_ALL]))
    by_person: dict[int, list[Made]] = {}
    for each in reversed(rows):
        by_person.setdefault(each.by_id, []).append(each)
    signs = [signs_of(own) for own in by_person.values()]
    return SignsOfAll(
        people=len(signs),
        decided=sum(each.decided for each in signs),
        readable=sum(each.readable for each in signs),
        hasty=sum(each.hasty for each in signs),
        approvals=sum(each.approvals for each in signs),
        unseen=sum(each.unseen for each in signs),
        hasty_people=sum(
            each.readable >= ENOUGH and (each.hasty_rate or 0) >= HASTY
            for each in signs
        ),
        series_people=sum(each.longest >= SERIES for each in signs),
        capped=len(rows) == LIMIT_OF_ALL,
    )
