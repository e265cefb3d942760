"""Deciding, cancelling, reporting results and ending workflows over REST: races, late decisions and results."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.actions.results import MAX_OTHER_INPUTS
from approvals.asking.digests import input_digest
from approvals.models import ApprovalRequest, AuditEntry, Workflow
from approvals.states import ALIASES
from tests.support.machine import APPROVAL, QUESTION, Machine
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

SCHEMA = {
    "type": "object",
    "required": ["amount"],
    "properties": {
        "amount": {"type": "integer", "maximum": 500},
        "items": {"type": "array", "items": {"type": "string"}},
    },
}


def overdue(asked) -> None:
    """Let the deadline of a request pass, before the sweep has seen it."""
    ApprovalRequest.objects.filter(pk=asked["id"]).update(deadline_at=timezone.now() - timedelta(seconds=1))


def results() -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(event="tool.result"))


@pytest.mark.shows("rest", "approve", "person")
def test_an_approval_says_what_may_run_now():
    agent, decider = Machine(alice()), Machine(bob())
    asked = agent.ask()
    decided = decider.decide(asked, "approve", comment="Fine.")
    assert (decided.status, decided.body["status"]) == (200, "approved")
    assert decided.body["decision"] == {
        "verdict": "approve",
        "by": "API key a machine of bob",
        "via": "rest",
        "decided_at": decided.body["changed_at"],
        "comment": "Fine.",
        "approved_input": {"amount": 120},
        "approved_digest": input_digest({"amount": 120}),
        "digest_salt": None,
        **dict.fromkeys(["decided_for", "edited_input", "answer", "grant", "rule", "repeats"]),
        **dict.fromkeys(["break_glass", "halted"], False),
    }
    assert agent.get(f"/requests/{asked['id']}").body == decided.body


def test_an_edit_replaces_what_may_run():
    agent, decider = Machine(alice()), Machine(bob())
    decided = decider.decide(agent.ask(response_schema=SCHEMA), "edit", edited_input={"amount": 100})
    made = decided.body["decision"]
    assert (made["verdict"], made["approved_input"]) == ("edit", {"amount": 100})
    assert (made["approved_digest"], decided.body["input"]) == (input_digest({"amount": 100}), {"amount": 120})


@pytest.mark.parametrize("word", ALIASES)
def test_the_verdict_names_of_other_tools_are_accepted(word):
    agent, decider = Machine(alice()), Machine(bob())
    said = {"answer": "M"} if ALIASES[word] == "respond" else {}
    asked = agent.ask(QUESTION if said else APPROVAL)
    assert decider.decide(asked, word, **said).body["decision"]["verdict"] == ALIASES[word]


def test_null_is_ignored_except_where_an_answer_is_expected():
    agent, decider = Machine(alice()), Machine(bob())
    approved = decider.decide(agent.ask(), "approve", edited_input=None, answer=None)
    assert approved.body["decision"]["verdict"] == "approve"
    answered = decider.decide(agent.ask(QUESTION), "respond", answer=None, edited_input=None)
    assert (answered.body["status"], answered.body["decision"]["answer"]) == ("answered", None)
    path, said = f"/requests/{approved.body['id']}/result", {"input_digest": approved.body["input_digest"]}
    assert agent.post(path, said | {"output": None, "error": "x"}).body["state"] == "failed"


@pytest.mark.shows("rest", "reject")
def test_the_first_verdict_wins_and_the_loser_is_told_who_won():
    asked = Machine(alice()).ask()
    first, second = Machine(bob()), Machine(make_person("dora", "decide_approvalrequest"))
    won = first.decide(asked, "approve")
    lost = second.decide(asked, "reject")
    assert lost.refusal == (409, "already_decided")
    told = lost.body["decision"]
    assert told["by"] == "API key a machine of bob"
    assert (told["verdict"], told["via"], told["request_id"]) == ("approve", "rest", asked["id"])
    assert told["decided_at"][:19] == won.body["decision"]["decided_at"][:19]


def test_repeating_ones_own_decision_changes_nothing():
    asked = Machine(alice()).ask()
    decider = Machine(bob())
    first, again = (decider.decide(asked, "approve") for _ in range(2))
    assert (first.status, first.replayed, again.status, again.replayed) == (200, False, 200, True)
    assert first.body == again.body
    assert decider.decide(asked, "approve", comment="Other words.").refusal == (409, "already_decided")


def test_a_late_answer_gets_410():
    asked = Machine(alice()).ask(QUESTION, timeout=60_000, default_response="M")
    overdue(asked)
    decider = Machine(bob())
    late = decider.decide(asked, "respond", answer="S")
    assert (late.refusal, late.body["decision"]["verdict"]) == ((410, "expired"), "expire")
    found = decider.get(f"/requests/{asked['id']}").body
    assert (found["status"], found["decision"]["answer"], found["decision"]["by"]) == ("expired", "M", None)


def test_the_requester_may_not_approve_their_own_request():
    agent = Machine(alice())
    assert agent.decide(agent.ask(), "approve").refusal == (403, "not_allowed")


def test_an_answer_must_match_the_schema():
    agent, decider = Machine(alice()), Machine(bob())
    asked = agent.ask(kind="form", response_schema=SCHEMA)
    for answer, errors in (
        ({"amount": "x"}, {"answer.amount"}),
        ({"amount": 501}, {"answer.amount"}),
        ({"amount": 1, "items": ["a", 1]}, {"answer.items.1"}),
        ({}, {"answer"}),
    ):
        reply = decider.decide(asked, "respond", answer=answer)
        assert (reply.refusal, set(reply.body["errors"])) == ((422, "invalid"), errors)
    assert decider.decide(asked, "respond", answer={"amount": 1}).body["status"] == "answered"


@pytest.mark.parametrize(
    ("said", "fields"),
    [
        ({"verdict": "maybe"}, {"verdict"}),
        ({"verdict": "cancel"}, {"verdict"}),
        ({"verdict": "respond", "answer": 1}, {"verdict"}),
        ({"verdict": "edit"}, {"edited_input"}),
        ({"verdict": "edit", "edited_input": 5}, {"edited_input"}),
        ({"verdict": "approve", "edited_input": {"amount": 1}}, {"edited_input"}),
        ({"verdict": "approve", "comment": "x" * 5001}, {"comment"}),
        ({"verdict": "approve", "because": "x"}, {"because"}),
        ({}, {"verdict"}),
    ],
)
def test_a_decision_that_does_not_fit_is_refused_field_by_field(said, fields):
    agent, decider = Machine(alice()), Machine(bob())
    asked = agent.ask()
    reply = decider.post(f"/requests/{asked['id']}/decision", said)
    assert (reply.refusal, set(reply.body["errors"])) == ((422, "invalid"), fields)
    assert decider.get(f"/requests/{asked['id']}").body["status"] == "pending"


def test_a_request_that_its_requester_cancelled_cannot_be_decided():
    agent, decider = Machine(alice()), Machine(bob())
    asked = agent.ask()
    withdrawn = agent.post(f"/requests/{asked['id']}/cancel", {"comment": "Not needed."})
    assert (withdrawn.body["status"], withdrawn.body["decision"]["comment"]) == ("cancelled", "Not needed.")
    assert decider.decide(asked, "approve").refusal == (409, "already_decided")
    assert agent.post(f"/requests/{asked['id']}/cancel").refusal == (409, "already_decided")


def test_a_result_is_recorded_once():
    agent, decider = Machine(alice()), Machine(bob())
    asked = agent.ask(tool_call_id="call-1", workflow_id="run-1")
    made = decider.decide(asked, "edit", edited_input={"amount": 100}).body["decision"]
    said = {"input_digest": made["approved_digest"], "output": {"refunded": 100}}
    first, again = (agent.post(f"/requests/{asked['id']}/result", said) for _ in range(2))
    assert (first.status, first.replayed, again.status, again.replayed) == (201, False, 200, True)
    assert first.body == again.body == {"request_id": asked["id"], "tool_call_id": "call-1", "state": "succeeded"}
    (entry,) = results()
    assert entry.data == {
        "state": "succeeded",
        "input": {"amount": 100},
        "input_digest": input_digest({"amount": 100}),
        "executed_digest": input_digest({"amount": 100}),
        "output": {"refunded": 100},
        "error_text": "",
        "executions": 1,
    }
    assert (entry.retry_count, entry.run_id, entry.tool_call_id, entry.via) == (1, "run-1", "call-1", "rest")
    assert agent.post(f"/requests/{asked['id']}/result", said | {"output": 2}).refusal == (409, "conflict")
    (entry,) = results()
    assert entry.retry_count == 1


def test_a_failure_is_a_result_too_and_requests_without_a_tool_call_do_not_mix():
    agent, decider = Machine(alice()), Machine(bob())
    for number in range(2):
        asked = agent.ask()
        made = decider.decide(asked, "approve").body["decision"]
        reply = agent.post(
            f"/requests/{asked['id']}/result", {"input_digest": made["approved_digest"], "error": f"no {number}"}
        )
        assert (reply.status, reply.body["tool_call_id"], reply.body["state"]) == (201, asked["id"], "failed")
    assert [entry.data["error_text"] for entry in results()] == ["no 0", "no 1"]


def test_the_reported_input_must_be_the_approved_one():
    agent, decider = Machine(alice()), Machine(bob())
    asked = agent.ask()
    decider.decide(asked, "edit", edited_input={"amount": 100})
    approved, other = input_digest({"amount": 100}), {"input_digest": asked["input_digest"], "output": 1}
    for repeats in range(2):
        reply = agent.post(f"/requests/{asked['id']}/result", other)
        assert (reply.refusal, reply.body["approved_digest"]) == ((409, "other_input"), approved)
        (entry,) = AuditEntry.objects.filter(event="tool.other_input")
        assert (entry.retry_count, str(entry.request_id), entry.via) == (repeats, asked["id"], "rest")
    assert entry.data == {
        "state": "succeeded",
        "input_digest": approved,
        "executed_digest": asked["input_digest"],
        "output": 1,
        "error_text": "",
        "executions": 1,
    }
    assert results() == []
    assert agent.post(f"/requests/{asked['id']}/result", {"input_digest": approved, "output": 2}).status == 201
    assert len(results()) == 1


def test_a_broken_client_cannot_fill_the_log_with_reports_of_other_inputs():
    agent, decider = Machine(alice()), Machine(bob())
    asked = agent.ask()
    decider.decide(asked, "approve")
    for number in range(MAX_OTHER_INPUTS + 2):
        said = {"input_digest": input_digest({"ran": number}), "error": "no"}
        assert agent.post(f"/requests/{asked['id']}/result", said).refusal == (409, "other_input")
    assert AuditEntry.objects.filter(event="tool.other_input").count() == MAX_OTHER_INPUTS


def test_only_approved_requests_have_results_and_only_the_asking_key_reports_them():
    owner = alice()
    agent, other, decider = Machine(owner), Machine(owner), Machine(bob())
    asked = agent.ask()
    said = {"input_digest": asked["input_digest"], "output": 1}
    assert agent.post(f"/requests/{asked['id']}/result", said).refusal == (409, "not_approved")
    decider.decide(asked, "approve")
    assert other.post(f"/requests/{asked['id']}/result", said).refusal == (403, "not_allowed")
    rejected = agent.ask()
    decider.decide(rejected, "reject")
    assert agent.post(f"/requests/{rejected['id']}/result", said).refusal == (409, "not_approved")


@pytest.mark.parametrize("said", [{}, {"output": 1, "error": "x"}, {"error": ""}, {"output": 1, "input_digest": "x"}])
def test_a_result_is_an_output_or_an_error(said):
    agent = Machine(alice())
    asked = agent.ask()
    said = {"input_digest": asked["input_digest"]} | said
    assert agent.post(f"/requests/{asked['id']}/result", said).refusal == (422, "invalid")


def test_a_workflow_lists_its_requests_in_order():
    agent, decider = Machine(alice()), Machine(bob())
    first = agent.ask(workflow_id="run-1", step_path=["a"], thread_id="t", agent="support")
    second = agent.ask(QUESTION, workflow_id="run-1", step_path=["a", "b"])
    decider.decide(first, "approve")
    found = agent.get("/workflows/run-1").body
    assert (found["state"], found["open_requests"], found["thread_id"], found["agent"]) == (
        "suspended",
        1,
        "t",
        "support",
    )
    shown = [(one["id"], one["step_path"], one["status"]) for one in found["suspensions"]]
    assert shown == [(first["id"], ["a"], "approved"), (second["id"], ["a", "b"], "pending")]
    assert decider.get(f"/workflows/run-1?scope={agent.scope}").body == found
    assert decider.get("/workflows/run-1").refusal == (404, "not_found")


@pytest.mark.parametrize("outcome", ["completed", "failed", "cancelled"])
def test_ending_a_workflow_cancels_its_pending_requests(outcome):
    agent = Machine(alice())
    asked = [agent.ask(workflow_id="run-1"), agent.ask(QUESTION, workflow_id="run-1"), agent.ask()]
    ended = agent.post("/workflows/run-1/end", {"outcome": outcome})
    assert (ended.status, ended.replayed, ended.body["state"], ended.body["open_requests"]) == (200, False, outcome, 0)
    statuses = [agent.get(f"/requests/{one['id']}").body["status"] for one in asked]
    assert statuses == ["cancelled", "cancelled", "pending"]
    again = agent.post("/workflows/run-1/end", {"outcome": outcome})
    assert (again.status, again.replayed, again.body) == (200, True, ended.body)
    other = "failed" if outcome != "failed" else "completed"
    assert agent.post("/workflows/run-1/end", {"outcome": other}).refusal == (409, "conflict")


def test_ending_the_workflow_of_a_single_request_uses_the_given_outcome():
    agent = Machine(alice())
    asked = agent.ask()
    for _ in range(2):
        assert agent.post(f"/workflows/{asked['id']}/end", {"outcome": "failed"}).body["state"] == "failed"
    assert Workflow.objects.get().state == "failed"


def test_audit_events_are_plain_json():
    Machine(bob()).decide(Machine(alice()).ask(), "approve")
    entries = AuditEntry.objects.filter(event__startswith="request.").order_by("id")
    assert [json.loads(entry.body)["via"] for entry in entries] == ["api", "rest"]
