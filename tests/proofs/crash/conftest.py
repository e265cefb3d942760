"""Fixtures of the crash tests."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.proofs.crash.lanes import chosen_points, play_in_lanes
from tests.proofs.crash.rounds import open_lane
from tests.support.processes.shared import PEOPLE, file_with

#: Servers that are being killed at the same time.
AT_ONCE = 3


@pytest.fixture(scope="session")
def template() -> Path:
    """A migrated database with the demo's people, made once."""
    return file_with("people", PEOPLE)


@pytest.fixture(scope="module")
def played(
    request: pytest.FixtureRequest, template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], int]:
    """Return the number of kills at a point of this module. All chosen points are played with the first that is asked for."""
    points = chosen_points(request)
    lanes = [
        functools.partial(open_lane, template, tmp_path_factory.mktemp("till"), request.module.play_round)
        for _ in range(min(AT_ONCE, len(points)))
    ]
    return play_in_lanes(points, lanes)
