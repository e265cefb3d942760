"""CrewAI: `ask_before_tools(desk, ...)` and `DeskFeedback(desk)`, with the package as people install it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


@pytest.mark.shows("crewai", "edit", "reject", "answer")
def test_crewai_runs_what_was_approved_and_tells_the_model_the_rest(agent):
    program = agent.start()
    refund = agent.waiting(1)["refund"]
    assert agent.whole(refund)["agent"] == "billing"
    agent.refuse_a_bad_edit(refund)
    agent.decide(refund, "edit", edited_input={"order": "4711", "amount": 99}, comment="Half.")
    agent.decide(agent.waiting(1)["drop"], "reject", comment="Not on a Friday")
    agent.decide(agent.waiting(1)["Which colour?"], "respond", answer="red")
    assert told(program) == {
        "ran": [["4711", 99]],
        "read": [
            'A person changed the input of this call to {"order": "4711", "amount": 99} and says: Half.\n\nrefunded 99',
            "A person declined this call: Not on a Friday. Do not repeat it.",
            "red",
        ],
        "last": "done",
    }
    assert agent.result(refund) == "refunded 99"


@pytest.mark.shows("crewai", "once")
@pytest.mark.shows("crewai", "raises")
def test_a_crew_that_begins_again_gets_the_results_and_runs_nothing_twice(agent):
    agent.environment["LOCKED"] = "yes"
    program = agent.start()
    refund = agent.waiting(1)["refund"]
    agent.decide(refund, "approve", comment="Once.")
    drop = agent.waiting(1)["drop"]
    agent.decide(drop, "approve")
    agent.decide(agent.waiting(1)["Which colour?"], "respond", answer="red")
    first, second = told(program), told(agent.start())
    assert (first["ran"], second["ran"]) == ([["4711", 250], "orders"], [])
    assert first["read"] == [
        "A person approved this call: Once.\n\nrefunded 250",
        "Error executing tool: orders is locked",
        "red",
    ]
    known = "This call has run already, and failed: ToolError: orders is locked"
    assert second["read"] == [first["read"][0], known, "red"]
    assert (agent.result(refund), agent.failure(drop)) == ("refunded 250", "ToolError: orders is locked")


@pytest.mark.shows("crewai", "names")
def test_no_call_runs_unasked_while_the_crew_lacks_a_named_tool(agent):
    agent.command.append("less")
    found = told(agent.start())
    reason = "This call was not run. The agent has no tool named 'refund', so no one would be asked. It has "
    assert (found["ran"], found["read"]) == ([], [f"{reason}'ask_human', 'drop', 'wipe'."])


def test_no_call_runs_unasked_in_a_later_crew_or_beside_mcp_servers_and_an_approved_one_runs_although_it_is_cached(
    agent,
):
    agent.command[1] = str(Path(__file__).parent / "unasked.py")
    program = agent.start()
    for _ in range(2):
        agent.decide(agent.waiting(1)["refund"], "approve")
    found = told(program)
    lacks = "This call was not run. The agent has no tool named {}, so no one would be asked. It has {}."
    assert (found["first"], found["second"]) == (["dropped"], [lacks.format("'drop'", "'erase'")])
    has = ", ".join(map(repr, sorted(["erase", found["served"]])))
    assert (found["known"], found["unknown"]) == (["dropped"], [lacks.format("'refnd'", has)])
    assert (found["twice"], found["ran"]) == (
        ["refunded 250"] * 2,
        ["orders", "orders", ["4711", 250], ["4711", 250]],
    )


@pytest.mark.shows("crewai", "approve", "crash")
def test_a_killed_crew_finds_its_request_when_it_is_started_again(agent):
    waiting = agent.killed_while_asking(1)
    agent.decide(waiting["refund"], "approve")
    program = agent.start()
    agent.decide(agent.waiting(1)["drop"], "reject")
    agent.decide(agent.waiting(1)["Which colour?"], "respond", answer="blue")
    found = told(program)
    assert (found["ran"], found["read"][-1]) == ([["4711", 250]], "blue")


def test_a_tool_is_named_as_in_its_decorator(agent):
    agent.command += ["tool", "Drop Table"]
    program = agent.start()
    agent.decide(agent.waiting(1)["drop_table"], "reject")
    assert told(program)["ran"] == []


def test_a_tool_does_not_run_if_nobody_can_be_asked(agent):
    agent.environment["PAUSEPOINT_KEY"] = "pp_no_key"
    found = told(agent.start())
    assert (found["ran"], found["read"][0]) == (
        [],
        "No one could be asked about this call, so it was not run: Refused.",
    )


def test_a_killed_flow_finds_its_request_and_goes_on_with_the_outcome(agent):
    agent.command.append("flow")
    waiting = agent.killed_while_asking(1)
    asked = agent.whole(waiting["Refund 250?"])
    assert (asked["message"], asked["context"]) == ("Refund 250?\nTo the card.", {"order": "4711", "amount": 250})
    agent.decide(waiting["Refund 250?"], "respond", answer="approved")
    assert told(agent.start()) == {"ran": [["4711", 250]], "result": "refunded 250"}


def test_a_stored_flow_is_resumed_by_another_process_and_runs_no_earlier_method_again(agent, tmp_path):
    agent.command += ["stored-flow", str(tmp_path / "flows.db")]
    assert told(agent.start()) == {"ran": ["proposed"], "result": "HumanFeedbackPending"}
    second = agent.start()
    agent.decide(agent.waiting(1)["Refund 250?"], "respond", answer="approved")
    assert told(second) == {"ran": [["4711", 250]], "result": "refunded 250"}


def test_silence_is_no_approval(agent):
    agent.command.append("flow")
    program = agent.start()
    agent.decide(agent.waiting(1)["Refund 250?"], "reject", comment="Ask me later")
    _, errors = program.communicate()
    assert program.returncode == 1
    assert "NobodyAnswered: propose: A person declined to answer: Ask me later." in errors


@pytest.mark.shows("crewai", "expire", "cancel")
def test_calls_that_nobody_decides_do_not_run_and_the_model_is_told_why(agent):
    program = agent.start()
    agent.withdraw(agent.waiting(1)["refund"], "The order is closed")
    agent.let_expire(agent.waiting(1)["drop"])
    agent.let_expire(agent.waiting(1)["Which colour?"])
    found = told(program)
    assert (found["ran"], found["read"]) == (
        [],
        [
            "This call was cancelled: The order is closed. Do not repeat it.",
            "No one decided in time, so this call was not run.",
            "No one answered in time.",
        ],
    )
