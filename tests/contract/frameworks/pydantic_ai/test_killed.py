"""A process that is killed between an answer and its effect."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.killed import MOMENTS, check_killed, check_partial

pytestmark = pytest.mark.server


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.shows("pydantic-ai", "killed")
def test_a_call_whose_process_was_killed_runs_once_and_only_as_people_say(agent, tmp_path, moment):
    check_killed(agent, tmp_path, moment, at_once=False)


@pytest.mark.shows("pydantic-ai", "partial")
def test_nothing_runs_while_a_call_of_the_step_waits_and_what_was_approved_runs_once_after_a_kill(agent, tmp_path):
    check_partial(agent, tmp_path)
