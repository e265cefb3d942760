"""Agno: `tool_hooks=[DeskHook(desk, ...)]`, with the package as people install it."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.cases import CHANGED, HALTED, REFUND, Play
from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


def test_the_first_program_of_the_page_runs_what_was_approved_and_nothing_that_was_rejected(agent, tmp_path):
    play = Play(agent, tmp_path)
    agent.command.append("first")
    play.model([play.call("refund", REFUND)])
    # Without a thread, nothing in the requests of the program names it: they are the new ones.
    agent.thread = ""
    old = [request["id"] for request in agent.every_waiting()]

    def decide(verdict: str, **said: str) -> list[str]:
        return play.run(lambda request: request["id"] in old or agent.decide(request, verdict, **said))

    assert decide("approve") == ["250 of order 4711 refunded"]
    assert decide("reject", comment="Not on a Friday") == [
        "A person declined this call: Not on a Friday. Do not repeat it."
    ]


@pytest.mark.shows("agno", "edit", "reject", "answer")
def test_agno_runs_what_was_approved_and_tells_the_model_the_rest(agent):
    program = agent.start()
    waiting = agent.waiting(3)
    assert agent.whole(waiting["refund"])["agent"] == "billing"
    agent.refuse_a_bad_edit(waiting["refund"])
    agent.decide(waiting["refund"], "edit", edited_input=CHANGED, comment="Half.")
    agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    change = 'A person changed the input of this call to {"order": "4711", "amount": 99} and says: Half.'
    assert told(program) == {
        "ran": [["4711", 99]],
        "messages": [
            f"{change}\n\nrefunded 99",
            "A person declined this call: Not on a Friday. Do not repeat it.",
            "red",
        ],
        "last": "done",
        "status": "COMPLETED",
    }
    assert agent.result(waiting["refund"]) == "refunded 99"


@pytest.mark.shows("agno", "once")
@pytest.mark.shows("agno", "raises", "pauses")
def test_a_run_that_begins_again_gets_the_results_and_runs_nothing_twice(agent):
    agent.environment["LOCKED"] = "yes"
    program = agent.start()
    waiting = agent.waiting(3)
    agent.decide(waiting["refund"], "approve", comment="Once.")
    agent.decide(waiting["drop"], "approve")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    first, second = told(program), told(agent.start())
    assert (sorted(first["ran"], key=str), second["ran"]) == ([["4711", 250], "orders"], [])
    assert second["messages"] == [
        "A person approved this call: Once.\n\nrefunded 250",
        "This call has run already, and failed: RuntimeError: orders is locked",
        "red",
    ]
    assert agent.failure(waiting["drop"]) == "RuntimeError: orders is locked"


def test_a_run_without_an_event_loop_asks_about_one_call_after_the_other(agent, tmp_path):
    play = Play(agent, tmp_path)
    agent.command.append("sync")
    play.model([play.call("refund", REFUND), play.call("drop", {"table": "orders"})])
    assert play.run(play.approve_refunds) == [
        "refunded 250",
        "A person declined this call. Do not repeat it.",
    ]
    assert play.effects() == [["4711", 250]]


def test_a_hook_that_changes_the_input_after_the_approval_changes_nothing(agent, tmp_path):
    play = Play(agent, tmp_path)
    agent.command.append("later")
    play.model([play.call("refund", REFUND)])
    play.run(play.approve)
    assert play.effects() == [["4711", 250]]


def test_a_change_that_agno_would_not_pass_on_does_not_run(agent, tmp_path):
    play = Play(agent, tmp_path)
    agent.command.append("empty")
    play.model([play.call("reset", {})])
    (read,) = play.run(lambda request: agent.decide(request, "edit", edited_input={"only": "carts"}))
    assert read.endswith("It was not run. Make the call again with that input.")
    assert play.effects() == []


def test_a_deadline_at_which_the_policy_stops_the_run_cancels_it(agent, tmp_path):
    play = Play(agent, tmp_path)
    play.model([play.call("refund", HALTED)], [play.call("look", {"order": "4711"})])
    program = agent.start()
    play.end(program, answer=lambda request: agent.let_expire(request))
    ended = told(program)
    assert (ended["status"], "the policy stops the run now" in ended["last"]) == ("CANCELLED", True)
    assert play.effects() == []


@pytest.mark.parametrize(("mode", "reason"), [
    ("less", "The agent has no tool named 'refund', so no one would be asked. It has 'ask_human', 'drop', 'look', 'reset'."),
    ("second", "A hook that stands before DeskHook keeps the approved input from the tool: make DeskHook the first of "
     "`tool_hooks`."),
    ("member", "The member 'clerk' of the team would run its calls of 'ask_human', 'drop', 'refund' unasked: hooks are for "
     "one agent. Give that agent a DeskHook, too."),
])  # fmt: skip
@pytest.mark.shows("agno", "names")
def test_a_tool_that_would_run_unasked_ends_the_run(agent, tmp_path, mode, reason):
    play = Play(agent, tmp_path)
    agent.command.append(mode)
    play.model([play.call("look", {"order": "4711"})])
    ended = told(agent.start())
    assert (ended["status"], ended["last"], play.effects()) == ("CANCELLED", reason, [])


@pytest.mark.parametrize(("verdict", "ran"), [("approve", [["4711", 250]]), ("reject", [])])
@pytest.mark.shows("agno", "agents")
def test_a_member_of_a_team_asks_with_its_own_hook(agent, tmp_path, verdict, ran):
    play = Play(agent, tmp_path)
    agent.command.append("team")
    delegated = {"member_id": "clerk", "task": "Refund 4711"}
    play.model([play.call("delegate_task_to_member", delegated)], [play.call("refund", REFUND)])
    play.run(lambda request: agent.decide(request, verdict))
    assert play.effects() == ran


@pytest.mark.shows("agno", "approve", "crash")
def test_a_killed_agent_finds_its_requests_when_it_is_started_again(agent):
    waiting = agent.killed_while_asking(3)
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "reject")
    agent.decide(waiting["Which colour?"], "reject", comment="I do not know")
    found = told(agent.start())
    assert found["ran"] == [["4711", 250]]
    assert found["messages"][-1] == "A person declined to answer: I do not know."


@pytest.mark.shows("agno", "expire", "cancel")
def test_calls_that_nobody_decides_do_not_run_and_the_model_is_told_why(agent):
    program = agent.start()
    waiting = agent.waiting(3)
    agent.withdraw(waiting["refund"], "The order is closed")
    agent.let_expire(waiting["drop"], waiting["Which colour?"])
    found = told(program)
    assert (found["ran"], found["messages"]) == (
        [],
        [
            "This call was cancelled: The order is closed. Do not repeat it.",
            "No one decided in time, so this call was not run.",
            "No one answered in time.",
        ],
    )
