"""Decisions in Prefect's server: each resumes its pause once, and none resumes the next one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.contract.frameworks.conftest import SOON
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
    program = EngineProgram("prefect", desk, tmp_path)
    yield program
    program.end()


def flow_runs(engine: EngineProgram) -> list[str]:
    reply = httpx.post(f"{engine.urls[0]}/flow_runs/filter", json={}, timeout=SOON)
    return [run["id"] for run in reply.json()]


def test_a_decision_counts_once(desk, engine):
    with connected(desk, engine, "prefect", kind="prefect") as lossy:
        check_lost_responses(engine, lossy)
        check_kills(desk, engine, lossy)
        check_late(engine, "prefect", f"{flow_runs(engine)[0]}/another", "the flow run has ended")
