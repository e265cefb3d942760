"""LangGraph: a stored thread in trouble runs nothing that no one has approved, and nothing twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.contract.frameworks import environments
from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server

CHANGED = {"order": "4711", "amount": 99}


class Thread:
    """One stored thread; each start of its program resumes it once."""

    def __init__(self, agent: Any, folder: Path, kind: str, loop: bool = False) -> None:
        self.agent, self.folder = agent, folder
        agent.command[1:] = [str(Path(__file__).parent / "troubles.py"), agent.thread, str(folder), kind]
        agent.environment |= {"LOOP": "1"} if loop else {}

    def start(self, **environment: str) -> dict[str, Any]:
        kept = dict(self.agent.environment)
        self.agent.environment |= environment
        found: dict[str, Any] = told(self.agent.start())["found"]
        self.agent.environment = kept
        return found

    def begin(self) -> dict[str, dict[str, Any]]:
        assert self.start(BEGIN="1")["status"] == "waiting"
        return self.waiting()

    def waiting(self) -> dict[str, dict[str, Any]]:
        return {one["tool_name"] or one["title"]: one for one in self.agent.every_waiting()}

    def ran(self) -> list[str]:
        file = self.folder / "ran"
        return sorted(file.read_text().splitlines()) if file.exists() else []


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.shows("langchain", "raises")
def test_an_approved_tool_that_raises_is_recorded_and_not_run_again_and_the_model_is_told(agent, tmp_path, loop):
    thread = Thread(agent, tmp_path, "raises", loop)
    waiting = thread.begin()
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "approve")
    assert thread.start()["status"] == "RuntimeError: The bank says no."
    assert agent.failure(waiting["refund"]) == "RuntimeError: The bank says no."
    found = thread.start()
    assert (found["status"], thread.ran()) == ("finished", ["drop orders", "refund 4711 250"])
    known = "This call has run already, and failed: RuntimeError: The bank says no."
    assert found["messages"]["refund"] == ["error", known]
    assert found["messages"]["drop"] in (
        ["success", "dropped"],
        ["error", "This call has run already, and returned: dropped"],
    )
    assert agent.result(waiting["drop"]) == "dropped"


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.shows("langchain", "pauses", "condition")
def test_a_rejected_call_does_not_run_though_the_condition_by_which_it_was_asked_is_false_now(agent, tmp_path, loop):
    thread = Thread(agent, tmp_path, "when", loop)
    waiting = thread.begin()
    agent.decide(waiting["refund"], "reject", comment="Not today")
    agent.decide(waiting["drop"], "approve")
    found = thread.start(LIMIT="1000")
    assert (found["status"], thread.ran()) == ("finished", ["drop orders"])
    assert found["messages"]["refund"] == ["error", "A person declined this call: Not today. Do not repeat it."]


@pytest.mark.skipif(environments.LOWEST, reason="langchain 1.3 knows no conditions, so it takes the change")
def test_a_call_that_was_approved_with_changes_does_not_run_as_it_was_asked(agent, tmp_path):
    thread = Thread(agent, tmp_path, "when")
    waiting = thread.begin()
    agent.decide(waiting["refund"], "edit", edited_input=CHANGED)
    agent.decide(waiting["drop"], "reject")
    found = thread.start(LIMIT="1000")
    assert (found["status"], thread.ran()) == ("finished", [])
    assert found["messages"]["refund"][1].endswith("It was not run. Make the call again with that input.")


def test_the_result_of_an_approved_call_in_a_part_of_a_graph_is_recorded(agent, tmp_path):
    thread = Thread(agent, tmp_path, "within")
    waiting = thread.begin()
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "reject")
    assert (thread.start()["status"], thread.ran()) == ("finished", ["refund 4711 250"])
    assert agent.result(waiting["refund"]) == "refunded 250"


@pytest.mark.parametrize("loop", [False, True])
def test_an_answer_that_the_node_cannot_use_is_asked_anew_with_the_error(agent, tmp_path, loop):
    thread = Thread(agent, tmp_path, "count", loop)
    agent.decide(thread.begin()["How many?"], "respond", answer="lots")
    assert thread.start()["status"].startswith("ValueError: ")
    assert thread.start()["status"] == "waiting"
    (again,) = agent.every_waiting()
    assert "ended in an error, and may have run in part: `ValueError(" in agent.whole(again)["message"]
    agent.decide(again, "respond", answer="3")
    found = thread.start()
    assert (found["status"], found["count"]) == ("finished", 3)


def test_a_task_that_pauses_again_after_an_approval_is_refused_in_words_and_runs_nothing_twice(agent, tmp_path):
    thread = Thread(agent, tmp_path, "pay")
    agent.decide(thread.begin()["pay"], "approve")
    for _ in range(2):
        assert thread.start()["status"].startswith(
            "CannotGoOn: A node of the thread has paused again after people have approved something in it."
        )
        assert (thread.waiting(), thread.ran()) == ({}, ["pay A"])


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize(
    "kind",
    [
        "together",
        "together within",
        "together retried",
        "together in turn",
        "together called",
        "together in a class",
    ],
)
@pytest.mark.lacks(
    "langchain",
    "pauses",
    "Several calls in one task of a graph, such as those of a plain `ToolNode` whose tools use `interrupt()`, are refused with "
    "an explanation before anyone is asked: LangGraph may give the answer for one of them to another. Make each call its own "
    "task.",
)
@pytest.mark.lacks(
    "langchain",
    "once",
    "Several calls in one task of a graph, such as those of a plain `ToolNode` whose tools use `interrupt()`, are refused with "
    "an explanation before anyone is asked: LangGraph may give the answer for one of them to another. Make each call its own "
    "task.",
)
def test_no_one_is_asked_about_several_calls_of_one_task(agent, tmp_path, kind, loop):
    thread = Thread(agent, tmp_path, kind, loop)
    for environment in ({"BEGIN": "1"}, {}):
        status = thread.start(**environment)["status"]
        assert status.startswith("CannotGoOn: Several calls of tools are one task of the graph")
        assert (agent.every_waiting(), thread.ran()) == ([], [])
