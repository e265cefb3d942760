"""Two processes of one thread at the same time."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.together import check_one_runs

pytestmark = pytest.mark.server


@pytest.mark.shows("agent-framework", "together")
def test_of_two_processes_of_one_thread_one_runs_what_was_approved(agent):
    check_one_runs(agent, [["4711", 250]])
