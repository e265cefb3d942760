"""The program of the page for ag2, with the package as people install it."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.cases import Play, parts

pytestmark = pytest.mark.server


def test_an_approved_call_runs_once_and_a_rejected_one_does_not(agent, tmp_path):
    play = Play(agent, tmp_path)
    play.model()
    approved = play.run(play.approve)
    repeated = play.run(play.reject)
    agent.begin_thread()
    rejected = play.run(lambda request: agent.decide(request, "reject", comment="Not on a Friday"))
    results = [parts(read, "250 of order 4711 refunded") for read in (approved, repeated, rejected)]
    assert (results, parts(rejected, "Not on a Friday")) == ([1, 1, 0], 1)
