"""Decisions in Restate's server: each counts once, and a promise that another program resolved takes none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.contract.frameworks.conftest import SOON
from tests.contract.frameworks.engines import (
    EngineProgram,
    check_kills,
    check_lost_responses,
    connected,
    refusals,
)
from tests.support.processes.server import Server, until

pytestmark = pytest.mark.server


@pytest.fixture
def engine(desk: Server, tmp_path: Path) -> Iterator[EngineProgram]:
    program = EngineProgram("restate", desk, tmp_path)
    yield program
    program.end()


def resolve(engine: EngineProgram, run: str, request: str) -> None:
    """Let another program answer first."""
    answer = {"request_id": request, "verdict": "expire"}
    assert httpx.post(f"{engine.urls[0]}/Refunds/{run}/decide", json=answer, timeout=SOON).status_code == 200


def test_a_decision_counts_once(desk, engine):
    with connected(desk, engine, "restate", kind="restate", route="Refunds/decide") as lossy:
        check_lost_responses(engine, lossy)
        check_kills(desk, engine, lossy)
        run = f"late-{os.getpid()}"
        engine.begin(run, f"{run}-1")
        request = engine.asked(run, "1")
        resolve(engine, run, request["id"])
        assert engine.ended(run) == ["expire"]
        # Its first response is not lost, so that there is no doubt.
        lossy.loses = False
        assert engine.decide(request, "approve") == 200
        (told,) = until(lambda: refusals(engine, request), "people are told", SOON)
        assert told["data"]["reason"] == "promise was already completed"
