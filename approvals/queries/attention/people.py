"""Decisions made by people, and hasty decisions (faster than reading): the one definition of both.

It is shared by Insights, *How you decide*, suggestions and replays, so that their figures agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery

from approvals.asking.asks import WORDS_PER_SECOND
from approvals.db.literal import literal
from approvals.models import Decision
from approvals.models.actors import OF_KEYS
from approvals.states import OWN_PAGES, Door, Verdict

#: A person's possible verdicts. Cancelling is not a decision.
VERDICTS_OF_PEOPLE = (Verdict.APPROVE, Verdict.EDIT, Verdict.REJECT, Verdict.RESPOND)
#: Decisions within this time of each other were made together, after one look.
TOGETHER = timedelta(seconds=1)


def by_people(prefix: str = "") -> Q:
    """Return the condition of decisions made by a person, on a page or elsewhere.

    Decisions by deadlines, rules and grants do not count, nor do those by programs with an API key.
    """
    return _decided(prefix) & ~Q(**{f"{prefix}by_name__startswith": OF_KEYS})


def by_keys(prefix: str = "") -> Q:
    """Return the condition of decisions made by a program with an API key."""
    return _decided(prefix) & Q(**{f"{prefix}by_name__startswith": OF_KEYS})


def _decided(prefix: str) -> Q:
    """Return the condition of decisions made by a person or a program, not by a rule, grant or deadline."""
    conditions = {
        "verdict__in": VERDICTS_OF_PEOPLE,
        "by_id__isnull": False,
        "grant__isnull": True,
    }
    return Q(**{prefix + name: value for name, value in conditions.items()}) & ~Q(
        **{f"{prefix}via": Door.RULE}
    )


def on_pages() -> Q:
    """Return the condition of decisions made by a person on a page of Pausepoint, where the displayed input is known."""
    # In the words of the index.
    return by_people() & Q(via__in=[literal(door) for door in sorted(OWN_PAGES)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A person's decision on a page. `unseen` counts the parts that were never in view; None where that does not apply.

    `previous` is the time of their preceding decision, on any request; None if it is their first.
    """

    by_id: int
    by_name: str
    request_id: UUID
    decided_at: datetime
    requested_at: datetime
    previous: datetime | None = None
    words: int | None
    unseen: int | None
    tool: str = ""
    agent: str = ""

    @property
    def taken(self) -> float | None:
        """The seconds that it took: since the preceding decision, or since the request if that came later.

        None for requests decided together with the preceding one, after one look.
        """
        if self.previous is not None and self.decided_at - self.previous < TOGETHER:
            return None
        since = max(self.requested_at, self.previous or self.requested_at)
        return max((self.decided_at - since).total_seconds(), 0.0)

    @property
    def reading(self) -> float | None:
        """The seconds that it takes to read the request; None if its number of words is unknown."""
        return None if self.words is None else self.words / WORDS_PER_SECOND

    @property
    def is_readable(self) -> bool:
        """Whether its speed can be compared with reading."""
        return self.taken is not None and self.reading is not None

    @property
    def is_hasty(self) -> bool:
        """Whether it was faster than reading."""
        taken = self.taken
        reading = self.reading
        return taken is not None and reading is not None and taken < reading


def made(decisions: QuerySet[Decision]) -> Iterator[Made]:
    """Yield decisions on pages in row order, each with the time of the same person's preceding decision."""
    # By the index of the name. Of decisions at the same moment, the later row is the later one.
    earlier = Decision.objects.filter(
        on_pages(),
        by_name=OuterRef("by_name"),
        by_id=OuterRef("by_id"),
        decided_at__lte=OuterRef("decided_at"),
    ).filter(Q(decided_at__lt=OuterRef("decided_at")) | Q(pk__lt=OuterRef("pk")))
    previous = Subquery(earlier.order_by("-decided_at").values("decided_at")[:1])
    rows = decisions.values_list(
        "by_id",
        "by_name",
        "request_id",
        "decided_at",
        "request__created_at",
        previous,
        "request__words",
        "unseen",
        "request__tool_name",
        "request__agent",
    )
    for (
        by_id,
        by_name,
        request_id,
        decided_at,
        requested_at,
        before,
        words,
        unseen,
        tool,
        agent,
    ) in rows:
        # The query guarantees it, but the type of the nullable column does not.
        assert by_id is not None
        yield Made(
            by_id=by_id,
            by_name=by_name,
            request_id=request_id,
            decided_at=decided_at,
            requested_at=requested_at,
            previous=before,
            words=words,
            unseen=unseen,
            tool=tool,
            agent=agent,
        )
