"""Genkit in the cases that every adapter has to pass."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.cases import Play

pytestmark = pytest.mark.server


@pytest.mark.shows("genkit", "pauses")
@pytest.mark.cases("genkit", without=["condition"])
def test_nothing_runs_unasked_or_twice(case, agent, tmp_path):
    case(Play(agent, tmp_path))
