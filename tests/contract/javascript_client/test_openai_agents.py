"""An agent of the OpenAI Agents SDK for JavaScript, with the code of the how-to page."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.conftest import told
from tests.support.processes.server import until

pytestmark = pytest.mark.server


@pytest.mark.shows("openai-agents-js", "edit", "reject", "once")
def test_the_openai_agents_sdk_runs_what_was_approved_once_and_nothing_else(openai_agents):
    agent = openai_agents()
    process = agent.start()
    waiting = agent.waiting(2)
    refused = agent.try_to_decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": "lots"})
    assert (refused.status, list(refused.body["errors"])) == (422, ["edited_input.amount"])
    changed = {"order": "4711", "amount": 99}
    agent.decide(waiting["refund"], "edit", edited_input=changed, comment="Only the shoes")
    agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    again = agent.waiting(1)["refund"]
    agent.decide(again, "reject", comment="Once is enough")
    found = told(process)
    change = 'A person changed the input of this call to {"order":"4711","amount":99}. '
    change += "The person who approved it says: Only the shoes. It was not run. "
    assert (found["ran"], found["last"]) == ([["4711", 99]], "done")
    assert found["read"] == {
        "refund": change + "Make the call again with exactly this input.",
        "drop": "A person declined this call: Not on a Friday. Do not repeat it.",
        "again": "refunded 99",
        "more": "A person declined this call: Once is enough. Do not repeat it.",
    }
    assert agent.result(waiting["refund"]) == "refunded 99"
    # Started again after its end, it finds the result, and asks about calls without one only.
    second = agent.start()
    agent.decide(agent.waiting(1)["refund"], "reject", comment="It has run")
    found = told(second)
    assert (found["ran"], found["read"]["refund"]) == ([], "This call has run already, and returned: refunded 99")


@pytest.mark.shows("openai-agents-js", "approve", "crash")
def test_a_killed_openai_agent_finds_its_requests_when_it_is_started_again(openai_agents):
    agent = openai_agents()
    waiting = agent.killed_while_asking(2)
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "reject")
    second = agent.start()
    for _ in range(2):
        agent.decide(agent.waiting(1)["refund"], "reject")
    assert told(second)["ran"] == [["4711", 250]]


@pytest.mark.shows("openai-agents-js", "expire", "cancel")
def test_openai_calls_that_nobody_decides_do_not_run_and_the_model_is_told_why(openai_agents):
    agent = openai_agents()
    process = agent.start()
    waiting = agent.waiting(2)
    agent.withdraw(waiting["refund"], "The order is closed")
    agent.let_expire(waiting["drop"])
    for _ in range(2):
        agent.decide(agent.waiting(1)["refund"], "reject")
    found = told(process)
    assert (found["ran"], found["read"]["refund"], found["read"]["drop"]) == (
        [],
        "This call was cancelled: The order is closed. Do not repeat it.",
        "No one decided in time, so this call was not run.",
    )


@pytest.mark.shows("openai-agents-js", "raises", "pauses")
def test_a_streamed_run_waits_for_decisions_and_failed_tools_are_recorded_as_failed(openai_agents):
    agent = openai_agents("openai_agents_stream")
    process = agent.start()
    waiting = agent.waiting(3)
    for request in waiting.values():
        agent.decide(request, "approve")
    fatal = agent.waiting(1)["fatal"]
    agent.decide(fatal, "approve")
    found = told(process)
    assert (found["last"], found["deltas"]) == ("done", 2)
    assert found["refused"] == "Give `onEvent` in place of `stream: true`: a run with decisions is several streams."
    assert "the bank says no" in found["fatal"]
    results = {name: agent.whole(request)["result"] for name, request in (waiting | {"fatal": fatal}).items()}
    assert {name: (result["state"], result["output"], result["error"]) for name, result in results.items()} == {
        "refund": ("succeeded", {"refunded": 250}, None),
        "bare": ("failed", None, "An error occurred while running the tool. Please try again."),
        "custom": ("failed", None, "Sorry: the bank says no"),
        "fatal": ("failed", None, "Error: the bank says no"),
    }


#: The displayed text of each kind of call, in the order of the program's requests.
SHOWN = [
    ("shell", {"commands": ["ls", "-a"], "timeoutMs": 50}),
    ("apply_patch", {"type": "update_file", "path": "a.txt", "diff": "+b"}),
    ("apply_patch", {"type": "delete_file", "path": "a.txt"}),
    ("computer_use_preview", {"actions": [{"type": "wait"}]}),
    ("bank.pay", {"amount": 5}),
    ("refund", {"order": "4711", "amount": 250}),
]
RAN = ["ls -a", "update a.txt +b", "delete a.txt", "wait", "refund 4711 250"]


def decide_all(agent, folder, verdict):
    """Decide all requests of the program, each as displayed; return them, and the program's lines."""
    agent.command.append(str(folder))
    process, decided = agent.start(), []
    for tool, wanted in SHOWN:
        request = agent.whole(agent.waiting(1)[tool])
        assert request["input"] == wanted
        agent.decide(request, verdict)
        until(lambda request=request: agent.whole(request)["status"] != "pending", "it is decided", 10)
        decided.append(request)
    return decided, told(process)


def lines(folder):
    file = folder / "ran"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.shows("openai-agents-js", "readable", "agents")
def test_people_are_shown_what_each_kind_of_call_would_run_and_its_result_is_recorded(openai_agents, tmp_path):
    agent = openai_agents("openai_agents_kinds")
    decided, found = decide_all(agent, tmp_path, "approve")
    assert lines(tmp_path) == RAN
    results = [agent.whole(request)["result"] for request in decided]
    assert [result["state"] for result in results] == [
        "succeeded",
        "succeeded",
        "failed",
        "succeeded",
        "succeeded",
        "succeeded",
    ]
    assert (results[4]["output"], results[5]["output"]) == ("paid 5", "refunded 250")
    broken, empty, unknown = found["refusals"]
    unasked = "was not run, and no one was asked about it: "
    assert broken.startswith(f'Unreadable: This call of "refund" {unasked}its input is not JSON (')
    assert empty.startswith(f'Unreadable: This call of "shell" {unasked}it does not say what it would do. ')
    assert unknown.startswith(
        'TypeError: The call of "program" is of the kind "program_call", which Pausepoint cannot show'
    )


def test_a_rejected_call_of_any_kind_does_not_run(openai_agents, tmp_path):
    decide_all(openai_agents("openai_agents_kinds"), tmp_path, "reject")
    assert lines(tmp_path) == []
