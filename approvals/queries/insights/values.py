"""The figures of the insights page as values, and durations as text. Imports no other module of this project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The outcomes of the requests of one tool, agent, person or day that ended in a period.

    `approved` to `declined` were decided by people, `automatic` by a rule, a grant or a program with an API key. `median` and
    `p95` are the seconds from request to decision by people; None without any. `readable` counts people's decisions on pages
    whose speed can be compared with reading, `hasty` those that were faster.
    """

    name: str
    ended: int
    approved: int = 0
    edited: int = 0
    rejected: int = 0
    answered: int = 0
    declined: int = 0
    expired: int = 0
    cancelled: int = 0
    automatic: int = 0
    median: float | None = None
    p95: float | None = None
    readable: int = 0
    hasty: int = 0

    @property
    def yes(self) -> int:
        """The number of approvals, with or without changes."""
        return self.approved + self.edited

    @property
    def approval_rate(self) -> int | None:
        """Percentage of the approvals decided by people that were approved."""
        return percent(self.yes, self.yes + self.rejected)

    @property
    def unchanged_rate(self) -> int | None:
        """Percentage of the approvals decided by people that were approved without changes."""
        return percent(self.approved, self.yes + self.rejected)

    @property
    def hasty_rate(self) -> int | None:
        return percent(self.hasty, self.readable)

    @property
    def decided(self) -> int:
        """The number decided by people, neither expired nor cancelled."""
        return self.yes + self.rejected + self.answered + self.declined

    @property
    def undecided(self) -> int:
        """The number that ended without a person's decision."""
        return self.ended - self.decided

    @property
    def settled(self) -> int:
        """The number of unknown outcomes that were resolved because the result of the call arrived."""
        return self.undecided - self.expired - self.cancelled - self.automatic


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The most used names of one table (tool, agent or person); `names` is their total number."""

    measures: Sequence[Measure]
    names: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Insights:
    """The figures of a period of `days` that ends at `until`.

    `capped`: more requests ended than were read. The days then begin with the first one read, which may be incomplete.
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
    """The ages of waiting requests: counts by age, youngest first; `capped` if more are waiting than were counted."""

    counts: Sequence[int]
    oldest: datetime | None
    capped: bool

    @property
    def total(self) -> int:
        return sum(self.counts)


def percent(part: int, whole: int) -> int | None:
    return round(100 * part / whole) if whole else None


def duration(seconds: float | None) -> str:
    """Return a duration in its two largest units, such as "2 h 15 min"; a dash for None."""
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
        return gettext("%(hours)d h %(minutes)d min") % {
            "hours": hours,
            "minutes": minutes,
        }
    if minutes:
        return gettext("%(minutes)d min %(seconds)d s") % {
            "minutes": minutes,
            "seconds": rest,
        }
    return gettext("%(seconds)s s") % {"seconds": rest}
