"""LangChain: `resume_from_desk(graph, desk, config)` for stored threads, with the package as people install it."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.stored import Stored, check_one_ran

pytestmark = pytest.mark.server


@pytest.fixture
def stored(agent, desk, tmp_path) -> Stored:
    return Stored(agent, desk, tmp_path)


@pytest.mark.parametrize("loop", [{}, {"LOOP": "1"}])
def test_a_stored_thread_is_asked_once_and_resumed_with_the_decisions(stored, loop):
    waiting = stored.begin(**loop)
    assert sorted(waiting) == ["Which colour?", "drop", "refund"]
    assert sorted(one["id"] for one in stored.begin(**loop).values()) == sorted(one["id"] for one in waiting.values())
    agent = stored.agent
    agent.decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": 99})
    agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    (found,) = stored.resume(**loop) if not loop else stored.resume_on_a_loop()
    assert (found["status"], stored.ran(), found["last"]) == ("finished", ["refund 4711 99"], "done")
    assert found["messages"]["ask_human"] == ["success", "red"]
    # LangChain puts words of its own before those of the person, in some versions.
    status, text = found["messages"]["drop"]
    assert (status, text.endswith("A person declined this call: Not on a Friday. Do not repeat it.")) == ("error", True)
    assert found["messages"]["refund"][1].endswith("refunded 99")
    assert agent.result(waiting["refund"]).endswith("refunded 99")
    for request in waiting.values():
        assert stored.record(request) == ["resume.taken", "resume.completed"]


def test_of_eight_resumers_in_two_processes_one_runs_the_tool(stored):
    waiting = stored.begin()
    stored.agent.decide(waiting["drop"], "reject")
    stored.agent.decide(waiting["Which colour?"], "respond", answer="red")
    stored.agent.decide(waiting["refund"], "approve")
    check_one_ran(stored.resume(programs=2, threads=4))
    assert stored.ran() == ["refund 4711 250"]
    assert stored.record(waiting["refund"]) == ["resume.taken", "resume.completed"]


@pytest.mark.parametrize(("where", "ran"), [
    ("tool", ["refund 4711 250", "tool waits", "refund 4711 250"]),
    ("model", ["refund 4711 250", "model waits"]),
])  # fmt: skip
@pytest.mark.lacks(
    "langchain",
    "killed",
    "A stored run whose process was killed within a tool runs the tool again: it is resumed at least once. The page of the "
    "request shows people that the approved call may have run.",
)
@pytest.mark.shows("langchain", "crash")
def test_after_a_kill_another_process_resumes_and_the_page_says_so(stored, where, ran):
    waiting = stored.begin()
    stored.agent.decide(waiting["drop"], "reject")
    stored.agent.decide(waiting["Which colour?"], "respond", answer="red")
    stored.agent.decide(waiting["refund"], "approve")
    stored.killed_in(where)
    (found,) = stored.resume(AGAIN="1")
    assert (found["status"], found["last"], stored.ran()) == ("finished", "done", ran)
    expected = ["resume.taken", "resume.lost", "resume.taken", "resume.completed"]
    assert [stored.record(request) for request in waiting.values()] == [expected] * 3
    page = stored.page(waiting["refund"])
    assert "without a completion. What was approved may have run." in page
    assert "Resumed by API key remote of requester" in page
