"""Two processes of one thread at the same time."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.together import check_one_runs

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


@pytest.mark.parametrize("version", ["5", "6", "7"])
@pytest.mark.shows("ai-sdk-agents", "together")
def test_of_two_gates_of_one_thread_one_runs_what_was_approved(ai_sdk, version):
    check_one_runs(ai_sdk("gate", version), [["4711", 250]])


def test_of_two_functions_with_one_key_one_runs(function):
    check_one_runs(function, [["4711", 120]])


@pytest.mark.shows("openai-agents-js", "together")
def test_of_two_runs_of_one_thread_one_runs_what_was_approved(openai_agents):
    check_one_runs(openai_agents(), [["4711", 250], ["4711", 99], ["4711", 99]])
