"""Kill points that are played in lanes: one after the other on the same installation, and all lanes at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeVar

import pytest

T = TypeVar("T")

#: Sets up an installation, and yields a function that plays all rounds at one point of it.
OpenLane = Callable[[], AbstractContextManager[Callable[[str], T]]]


def chosen_points(request: pytest.FixtureRequest) -> list[str]:
    """Return the points of the tests of this module that were selected."""
    items = [item for item in request.session.items if getattr(item, "module", None) is request.module]
    return [item.callspec.params["point"] for item in items if hasattr(item, "callspec")]


def play_in_lanes(points: Sequence[str], lanes: Sequence[OpenLane[T]]) -> Callable[[str], T]:
    """Share the points among the lanes and play all; return a function that returns a point's outcome, or raises its error."""
    outcomes: dict[str, T | BaseException] = {}

    def play_lane(number: int) -> None:
        own = points[number :: len(lanes)]
        try:
            with lanes[number]() as play:
                for point in own:
                    outcomes[point] = play(point)
        except BaseException as error:
            # The installation's state is unknown: its remaining points get this error as the reason.
            outcomes.update({point: error for point in own if point not in outcomes})

    with ThreadPoolExecutor(len(lanes)) as pool:
        list(pool.map(play_lane, range(min(len(lanes), len(points)))))

    def outcome(point: str) -> T:
        found = outcomes[point]
        if isinstance(found, BaseException):
            raise found
        return found

    return outcome
