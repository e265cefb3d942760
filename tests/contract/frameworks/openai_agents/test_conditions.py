"""A condition that changes while people decide."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.conditions import check_condition_that_changes

pytestmark = pytest.mark.server


@pytest.mark.shows("openai-agents", "condition")
def test_a_rejected_call_does_not_run_though_the_condition_by_which_it_was_asked_is_false_now(agent, tmp_path):
    agent.command.append("when")
    check_condition_that_changes(agent, tmp_path)
