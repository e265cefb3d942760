"""An agent of VoltAgent, with the code of the how-to page, which uses `desk.approve`."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.cases import CASES, HALTED, Play
from tests.contract.frameworks.conftest import SOON
from tests.contract.javascript_frameworks.checks import check_first_program

pytestmark = pytest.mark.server
#: Those of one gated tool, without those in which a model reads people's words with a result.
NAMES = ("approve", "reject", "expire", "denied", "grant", "no-id", "repeated-id", "away")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_runs_unasked_or_twice(program, tmp_path, name):
    CASES[name](Play(program("agent", 0), tmp_path))


def test_a_run_that_the_policy_stops_is_aborted(program, tmp_path):
    play = Play(program("agent", 0), tmp_path)
    play.model([play.call("refund", HALTED)], [play.call("refund", HALTED, "second")])
    process = play.agent.start()
    play.end(process, answer=lambda request: play.agent.let_expire(request))
    _, errors = process.communicate(timeout=SOON)
    assert (play.effects(), process.returncode, "AbortError" in errors) == ([], 1, True)


def test_the_first_program_of_the_page_runs_as_pasted(program, framework):
    shared = framework.blocks[0].split("const parameters")[0]
    framework.blocks.append(f"{shared}{framework.blocks[1]}")
    check_first_program(program("page", len(framework.blocks) - 1))
