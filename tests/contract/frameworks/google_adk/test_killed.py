"""A process that is killed between an answer and its effect."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.killed import MOMENTS, check_killed

pytestmark = pytest.mark.server


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.shows("google-adk", "killed", "partial")
def test_a_call_whose_process_was_killed_while_other_ones_wait_runs_once_and_only_as_people_say(
    agent, tmp_path, moment
):
    check_killed(agent, tmp_path, moment)
