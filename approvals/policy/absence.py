"""Votes on behalf of absent people; pure."""

from __future__ import annotations

from collections.abc import Collection


def seats(
    person: int, away: Collection[int], runners: Collection[int]
) -> tuple[int, ...]:
    """Return the ids for which this person may vote, their own first; the right to vote at all is checked elsewhere.

    `away` are the people for whom they stand in now, `runners` those who run the agent. Runners get no other seat, and a runner's
    seat goes to no delegate: absences never lower the number of people that a request needs.
    """
    if person in runners:
        return (person,)
    return (
        person,
        *(
            other
            for other in sorted(set(away))
            if other != person and other not in runners
        ),
    )
