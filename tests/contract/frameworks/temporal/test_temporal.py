"""Decisions in Temporal's development server: each counts once, by its own history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
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


@pytest.fixture
def engine(desk: Server, tmp_path: Path) -> Iterator[EngineProgram]:
    program = EngineProgram("temporal", desk, tmp_path)
    yield program
    program.end()


def updates(engine: EngineProgram, run: str) -> int:
    history = httpx.get(f"{engine.urls[0]}/api/v1/namespaces/default/workflows/{run}/history")
    events = history.json()["history"]["events"]
    return sum(event["eventType"] == "EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED" for event in events)


def test_a_decision_counts_once(desk, engine):
    with connected(desk, engine, "temporal", kind="temporal", route="default/decide") as lossy:
        runs = check_lost_responses(engine, lossy)
        assert [updates(engine, run) for run in runs] == [2] * len(runs)
        check_kills(desk, engine, lossy)
        check_late(engine, "temporal", runs[0], "the workflow has ended")
