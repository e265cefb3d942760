"""The adapters for JavaScript in the cases that every adapter has to pass."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.cases import Play

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


@pytest.mark.cases("ai-sdk-agents", without=["condition"])
def test_no_gated_call_runs_unasked_or_twice(case, ai_sdk, tmp_path):
    case(Play(ai_sdk("gate"), tmp_path))


@pytest.mark.cases("openai-agents-js")
def test_no_call_of_the_agents_sdk_runs_unasked_or_twice(case, openai_agents, tmp_path):
    case(Play(openai_agents(), tmp_path, again=True, all_first=True))
