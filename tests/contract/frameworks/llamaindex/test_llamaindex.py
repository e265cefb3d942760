"""LlamaIndex workflows: `await run_with_desk(workflow, desk, ...)`, with the package as people install it."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server
BOB = "API key remote of approver"


@pytest.mark.shows("llamaindex", "edit")
def test_a_step_runs_what_was_approved_and_its_result_is_reported(agent):
    program = agent.start()
    waiting = agent.waiting(1)
    assert waiting["refund"]["title"] == "Refund 250?"
    agent.decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": 99})
    assert told(program) == {"ran": [["4711", 99]], "result": "refunded 99"}
    assert agent.result(waiting["refund"]) == "refunded 99"


def test_a_tool_may_have_arguments_that_are_named_as_those_of_the_adapter(agent):
    agent.command.append("names")
    program = agent.start()
    agent.decide(agent.waiting(1)["note"], "approve")
    values = ["DESK", "OUTCOME", "RULING", "ACT"]
    assert told(program) == {"ran": [values], "result": values}


def test_steps_that_wait_at_the_same_time_get_their_own_answers(agent):
    agent.command.append("waits")
    program = agent.start()
    waiting = agent.waiting(2)
    agent.decide(waiting["drop"], "reject", comment="No")
    agent.decide(waiting["refund"], "approve")
    assert told(program)["result"] == {"refund": ["approved", ""], "drop": ["rejected", "No"]}


@pytest.mark.shows("llamaindex", "reject", "crash")
def test_a_step_gets_the_words_of_a_rejection_and_a_killed_run_finds_its_request(agent):
    waiting = agent.killed_while_asking(1)
    agent.decide(waiting["refund"], "reject", comment="Not on a Friday")
    assert told(agent.start()) == {"ran": [], "result": "rejected: Not on a Friday"}


@pytest.mark.shows("llamaindex", "once")
def test_a_run_that_begins_again_gets_the_result_and_does_not_run_the_call_twice(agent):
    program = agent.start()
    waiting = agent.waiting(1)
    agent.decide(waiting["refund"], "approve")
    assert told(program) == {"ran": [["4711", 250]], "result": "refunded 250"}
    assert told(agent.start()) == {"ran": [], "result": "refunded 250"}
    assert agent.result(waiting["refund"]) == "refunded 250"


@pytest.mark.shows("llamaindex", "raises")
def test_a_call_that_has_failed_does_not_run_again_from_the_saved_state(agent, tmp_path):
    agent.environment["LOCKED"] = "yes"
    agent.command += ["state", str(tmp_path / "state.json")]
    program = agent.start()
    waiting = agent.waiting(3)
    agent.decide(waiting["drop"], "approve")
    agent.decide(waiting["refund"], "reject", comment="No")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    first = told(program)
    assert (first["ran"], first["result"]["drop"][1]) == (["proposed", "orders"], "RuntimeError: orders is locked")
    second = told(agent.start())
    failed = "HasFailed: This call has run already, and failed: RuntimeError: orders is locked"
    assert (second["ran"], second["result"]["drop"][1]) == ([], failed)
    assert agent.failure(waiting["drop"]) == "RuntimeError: orders is locked"


@pytest.mark.shows("llamaindex", "approve", "answer", "person")
def test_a_killed_run_goes_on_from_its_saved_state_and_runs_no_earlier_step_again(agent, tmp_path):
    agent.command += ["state", str(tmp_path / "state.json")]
    waiting = agent.killed_while_asking(3)
    refund = agent.whole(waiting["refund"])
    assert (refund["title"], refund["message"]) == ("May I refund?", "May I refund?\nIt is urgent.")
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "reject", comment="No")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    found = told(agent.start())
    assert found["ran"] == [["4711", 250]]
    assert found["result"] == {
        "refund": ["approved", "", BOB],
        "drop": ["rejected", "No", BOB],
        "ask_human": ["red", "", BOB],
    }
    assert agent.result(waiting["refund"]) == "refunded 250"


@pytest.mark.shows("llamaindex", "expire", "cancel")
@pytest.mark.shows("llamaindex", "pauses")
def test_calls_that_nobody_decides_do_not_run_and_the_workflow_is_told_why(agent, tmp_path):
    agent.command += ["state", str(tmp_path / "state.json")]
    program = agent.start()
    waiting = agent.waiting(3)
    agent.withdraw(waiting["refund"], "The order is closed")
    agent.let_expire(waiting["drop"], waiting["Which colour?"])
    assert told(program) == {
        "ran": ["proposed"],
        "result": {
            "refund": ["cancelled", "The order is closed", "API key remote of requester"],
            "drop": ["expired", "", None],
            "ask_human": ["No one answered in time.", "", None],
        },
    }


def test_a_run_ends_with_the_refusal_if_nobody_can_be_asked(agent):
    agent.environment["PAUSEPOINT_KEY"] = "pp_no_key"
    program = agent.start()
    _, errors = program.communicate()
    assert (program.returncode, errors.splitlines()[-1].partition(":")[0]) == (1, "pausepoint.desk.errors.Refused")
