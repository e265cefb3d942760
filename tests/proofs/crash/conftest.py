"""What the crash tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.proofs.crash.rounds import PlayRound, play
from tests.support.processes.deployed import file_with_people

#: Servers that are being killed at the same time.
AT_ONCE = 3


@pytest.fixture(scope="session")
def template() -> Path:
    """A migrated database with the demo's people, made once."""
    return file_with_people()


@pytest.fixture(scope="session")
def played(
    request: pytest.FixtureRequest, template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[PlayRound, str], int]]:
    """Return the number of kills at a point. All chosen points are played with the first that is asked for, AT_ONCE at a time."""
    items = [item for item in request.session.items if "played" in getattr(item, "fixturenames", ())]
    chosen = [(item.module.play_round, item.callspec.params["point"]) for item in items]  # type: ignore[attr-defined]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = {
            (play_round, point): pool.submit(play, play_round, point, template, tmp_path_factory.mktemp("point"))
            for play_round, point in chosen
        }
        yield lambda play_round, point: futures[play_round, point].result()
