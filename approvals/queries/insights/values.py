"""The figures of the insights as values, and how they are said. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What came of the requests of one tool, agent, person or day that ended in a period.

    Times are in seconds from asked to decided, by people only; None where nobody decided. `readable` are people's
    decisions of which it is known how many words there were to read, `hasty` those that came before they can be read.
    """

    name: str
    ended: int
    approved: int = 0
    edited: int = 0
    rejected: int = 0
    answered: int = 0
    declined: int = 0
    expired: int = 0
    withdrawn: int = 0
    median: float | None = None
    p95: float | None = None
    readable: int = 0
    hasty: int = 0

    @property
    def yes(self) -> int:
        """Approved as asked, or with changes."""
        return self.approved + self.edited

    @property
    def approval_rate(self) -> int | None:
        """Percent of the approvals decided by people that were yes."""
        return percent(self.yes, self.yes + self.rejected)

    @property
    def hasty_rate(self) -> int | None:
        return percent(self.hasty, self.readable)

    @property
    def decided(self) -> int:
        """By people: neither by the deadline nor withdrawn."""
        return self.yes + self.rejected + self.answered + self.declined

    @property
    def undecided(self) -> int:
        """What ended without a person's verdict."""
        return self.ended - self.decided

    @property
    def settled(self) -> int:
        """Recoveries that were over because the result of the call came after all."""
        return self.undecided - self.expired - self.withdrawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The most used of one sort (tool, agent, person); `names` is how many there are in all."""

    measures: Sequence[Measure]
    names: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Insights:
    """The figures of a period of `days` that ends at `until`. `capped`: more has ended than was looked at, the latest of it;
    the days begin with the first that was looked at then, which need not be whole.
    """

    days: int
    since: datetime
    until: datetime
    total: Measure
    per_day: Sequence[Measure]
    tools: Ranking
    agents: Ranking
    people: Ranking
    capped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ages:
    """How long requests have waited: counts by age, the youngest first; `capped` where more wait than were counted."""

    counts: Sequence[int]
    oldest: datetime | None
    capped: bool

    @property
    def total(self) -> int:
        return sum(self.counts)


def percent(part: int, whole: int) -> int | None:
    return round(100 * part / whole) if whole else None


def duration(seconds: float | None) -> str:
    """A time as people say it, in its two largest units; a dash for none."""
    if seconds is None:
        return "\N{EN DASH}"
    if seconds < 10:
        return gettext("%(seconds)s s") % {"seconds": f"{seconds:.1f}"}
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return gettext("%(days)d d %(hours)d h") % {"days": days, "hours": hours}
    if hours:
        return gettext("%(hours)d h %(minutes)d min") % {"hours": hours, "minutes": minutes}
    if minutes:
        return gettext("%(minutes)d min %(seconds)d s") % {"minutes": minutes, "seconds": rest}
    return gettext("%(seconds)s s") % {"seconds": rest}
