"""pydantic-ai: `ask_and_store` and `resume_from_desk`, with the package as people install it."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.stored import Stored, check_one_ran

pytestmark = pytest.mark.server


@pytest.fixture
def stored(agent, desk, tmp_path) -> Stored:
    return Stored(agent, desk, tmp_path)


def decided(stored: Stored, verdict: str = "approve", **said):
    waiting = stored.begin()
    stored.agent.refuse_a_bad_edit(waiting["refund"])
    stored.agent.decide(waiting["refund"], verdict, **said)
    stored.agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    stored.agent.decide(waiting["Which colour?"], "respond", answer="red")
    return waiting


def test_a_stored_run_goes_on_with_all_decisions_in_another_process(stored):
    waiting = decided(stored, "edit", edited_input={"order": "4711", "amount": 99})
    (found,) = stored.resume()
    assert (found["status"], found["last"], stored.ran()) == ("finished", "done", ["refund 4711 99"])
    assert found["messages"] == {
        "refund": [
            "success",
            'A person changed the input of this call to {"order": "4711", "amount": 99}.\n\nrefunded 99',
        ],
        "drop": ["denied", "A person declined this call: Not on a Friday. Do not repeat it."],
        "ask_human": ["success", "red"],
    }
    assert stored.agent.result(waiting["refund"]) == "refunded 99"
    assert [stored.record(one) for one in waiting.values()] == [["resume.taken", "resume.completed"]] * 3


def test_of_eight_resumers_in_two_processes_one_runs_the_tool(stored):
    decided(stored)
    check_one_ran(stored.resume(programs=2, threads=4))
    assert stored.ran() == ["refund 4711 250"]


@pytest.mark.parametrize(("where", "ran", "told"), [
    ("tool", ["refund 4711 250", "tool waits", "refund 4711 250"], ["success", "refunded 250"]),
    ("model", ["refund 4711 250", "model waits"],
     ["success", "refunded 250"]),
])  # fmt: skip
@pytest.mark.lacks(
    "pydantic-ai",
    "killed",
    "A stored run whose process was killed within a tool runs the tool again: it is resumed at least once. The page of the "
    "request shows people that the approved call may have run.",
)
@pytest.mark.shows("pydantic-ai", "crash")
def test_after_a_kill_another_process_resumes_and_the_page_says_so(stored, where, ran, told):
    waiting = decided(stored)
    stored.killed_in(where)
    (found,) = stored.resume(AGAIN="1")
    assert (found["status"], found["messages"]["refund"], stored.ran()) == ("finished", told, ran)
    expected = ["resume.taken", "resume.lost", "resume.taken", "resume.completed"]
    assert stored.record(waiting["refund"]) == expected
    assert "without a completion. What was approved may have run." in stored.page(waiting["refund"])
