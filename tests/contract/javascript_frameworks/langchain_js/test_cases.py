"""LangChain for JavaScript in the cases that every adapter has to pass."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.cases import Play

pytestmark = pytest.mark.server


@pytest.mark.shows("langchain-js", "pauses")
@pytest.mark.cases("langchain-js", without=["condition"])
def test_nothing_runs_unasked_or_twice(case, agent, tmp_path):
    case(Play(agent, tmp_path))
