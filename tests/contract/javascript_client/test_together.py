"""Two processes of one thread at the same time, with the older versions of the AI SDK and without a framework."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.cases import CASES, Play
from tests.contract.frameworks.conftest import told

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


@pytest.mark.parametrize("version", ["5", "6"])
def test_of_two_gates_of_one_thread_one_runs_what_was_approved(ai_sdk, version, tmp_path):
    CASES["together"](Play(ai_sdk("gate", version), tmp_path))


def test_of_two_functions_with_one_key_one_runs(function, tmp_path):
    play = Play(function, tmp_path)
    programs = [function.start(), function.start()]
    play.end(*programs, answer=play.approve_refunds)
    assert [ran for program in programs for ran in told(program)["ran"]] == [["4711", 120]]
