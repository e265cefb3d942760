"""OpenAI Agents SDK: `ask_and_store` and `resume_from_desk`, with the package as people install it."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.stored import Stored, check_one_ran

pytestmark = pytest.mark.server

EXPECTED = ["resume.taken", "resume.lost", "resume.taken", "resume.completed"]


@pytest.fixture
def stored(agent, desk, tmp_path) -> Stored:
    return Stored(agent, desk, tmp_path)


def approved(stored: Stored):
    """The requests of a stored run of which one call was approved and the other one rejected."""
    waiting = stored.begin()
    stored.agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    stored.agent.decide(waiting["refund"], "approve")
    return waiting


def test_a_stored_run_goes_on_with_all_decisions_and_is_stored_again(stored):
    waiting = stored.begin()
    assert sorted(waiting) == ["drop", "refund"]
    stored.agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    (early,) = stored.resume()
    assert (early["status"], early["waiting"]) == ("waiting", [waiting["refund"]["id"]])
    stored.agent.decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": 99})
    (again,) = stored.resume(SCRIPT="again")
    # The call as it was approved ran without asking again; the same call once more is asked about.
    assert (again["status"], stored.ran()) == ("waiting", ["refund 4711 99"])
    assert stored.agent.result(waiting["refund"]) == "refunded 99"
    stored.waiting_id, (more,) = again["waiting"][0], again["waiting"]
    stored.agent.decide({"id": more}, "reject", comment="Once is enough")
    (last,) = stored.resume()
    assert (last["status"], last["last"], stored.ran()) == ("finished", "done", ["refund 4711 99"])
    for request in (*waiting.values(), {"id": more}):
        assert stored.record(request) == ["resume.taken", "resume.completed"]


def changed(stored: Stored):
    """The requests of a stored run of which one call was approved with changes and the other one rejected."""
    waiting = stored.begin()
    stored.agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    stored.agent.decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": 99})
    return waiting


def test_a_changed_call_that_is_repeated_beside_another_one_runs_and_is_reported_before_the_run_is_stored(stored):
    waiting = changed(stored)
    (again,) = stored.resume(SCRIPT="again and more")
    assert (again["status"], stored.ran()) == ("waiting", ["refund 4711 99"])
    assert stored.agent.result(waiting["refund"]) == "refunded 99"
    (stored.waiting_id,) = again["waiting"]
    stored.agent.decide({"id": stored.waiting_id}, "reject", comment="Not on a Friday")
    (last,) = stored.resume()
    assert (last["status"], stored.ran()) == ("finished", ["refund 4711 99"])


def test_a_changed_call_of_an_earlier_pause_never_runs_twice_on_its_approval(stored):
    waiting = changed(stored)
    (stored.waiting_id,) = stored.resume(SCRIPT="another")[0]["waiting"]
    stored.agent.decide({"id": stored.waiting_id}, "reject", comment="Not on a Friday")
    (failed,) = stored.resume(SCRIPT="again and no model")
    assert (failed["status"] not in {"finished", "waiting", "taken"}, stored.ran()) == (True, ["refund 4711 99"])
    assert stored.agent.result(waiting["refund"]) == "refunded 99"
    (asked,) = stored.resume(SCRIPT="again")
    assert (asked["status"], stored.ran()) == ("waiting", ["refund 4711 99"])
    assert stored.agent.whole({"id": asked["waiting"][0]})["input"] == {"order": "4711", "amount": 99}


def test_of_eight_resumers_in_two_processes_one_runs_the_tool(stored):
    waiting = approved(stored)
    check_one_ran(stored.resume(programs=2, threads=4))
    assert stored.ran() == ["refund 4711 250"]
    assert [stored.record(request) for request in waiting.values()] == [["resume.taken", "resume.completed"]] * 2


@pytest.mark.parametrize(("where", "ran", "output"), [
    ("tool", ["refund 4711 250", "tool waits", "refund 4711 250"], "refunded 250"),
    ("model", ["refund 4711 250", "model waits"], "This call has run already, and returned: refunded 250"),
])  # fmt: skip
@pytest.mark.lacks(
    "openai-agents",
    "killed",
    "A stored run whose process was killed within a tool runs the tool again: it is resumed at least once. The page of the "
    "request shows people that the approved call may have run.",
)
@pytest.mark.shows("openai-agents", "crash")
def test_after_a_kill_another_process_resumes_and_the_page_says_so(stored, where, ran, output):
    waiting = approved(stored)
    stored.killed_in(where)
    (found,) = stored.resume(AGAIN="1")
    assert (found["status"], found["last"], stored.ran()) == ("finished", "done", ran)
    assert output in found["outputs"]
    assert [stored.record(request) for request in waiting.values()] == [EXPECTED] * 2
    assert "without a completion. What was approved may have run." in stored.page(waiting["refund"])


def test_an_error_gives_the_run_back_and_what_has_run_does_not_run_again(stored):
    waiting = approved(stored)
    (failed,) = stored.resume(SCRIPT="no model")
    assert (failed["status"] not in {"finished", "waiting", "taken"}, stored.ran()) == (True, ["refund 4711 250"])
    (found,) = stored.resume()
    assert (found["status"], stored.ran()) == ("finished", ["refund 4711 250"])
    assert stored.record(waiting["refund"]) == ["resume.taken", "resume.released", "resume.taken", "resume.completed"]
