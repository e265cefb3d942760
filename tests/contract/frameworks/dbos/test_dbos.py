"""Decisions in DBOS, through the handler of the guide: each counts once, and one that comes too late is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.frameworks.engines import (
    EngineProgram,
    check_kills,
    check_late,
    check_lost_responses,
    connected,
)
from tests.support.processes.server import Server

pytestmark = pytest.mark.server

SECRET = "whsec_" + "c2VjcmV0" * 4


@pytest.fixture
def engine(desk: Server, tmp_path: Path) -> Iterator[EngineProgram]:
    program = EngineProgram("dbos", desk, tmp_path, ENGINE_SECRET=SECRET)
    yield program
    program.end()


def test_a_decision_counts_once(desk, engine):
    with connected(desk, engine, "dbos", kind="own_handler", secret=SECRET) as lossy:
        runs = check_lost_responses(engine, lossy)
        check_kills(desk, engine, lossy)
        check_late(engine, "dbos", runs[0], "The workflow has ended.")
