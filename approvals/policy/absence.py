"""For whom a person may vote: themselves, and those who are away and have named them; pure."""

from __future__ import annotations

from collections.abc import Collection


def seats(person: int, away: Collection[int], runners: Collection[int]) -> tuple[int, ...]:
    """Return the ids for which this person may vote, their own first; whether these may vote at all is another question.

    `away` are the people for whom they stand in now, `runners` those who run the agent. Neither a runner nor someone who
    stands in for one gets a seat by it: a request needs as many people as it does when no one is away.
    """
    if person in runners:
        return (person,)
    return (person, *(other for other in sorted(set(away)) if other != person and other not in runners))
