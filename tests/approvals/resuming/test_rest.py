"""The resume of a request over REST: one holder at a time, one completion, and a state that is visible only to its holder."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.test import override_settings
from django.utils import timezone

from approvals.background import sweep
from approvals.models import ApprovalRequest, AuditEntry, ResumeState, Resumption
from tests.approvals.api.test_call_costs import cost
from tests.support.machine import APPROVAL, Machine
from tests.support.people import alice, bob, carol, mallory

pytestmark = pytest.mark.django_db

STATE = '{"messages": ["Refund 4711, Zürich"]}'


@pytest.fixture
def agent() -> Machine:
    return Machine(alice())


@pytest.fixture
def approver() -> Machine:
    return Machine(bob())


def decided(agent: Machine, approver: Machine, **ask) -> str:
    """The path of an approved request."""
    asked = agent.ask(**{"resume_state": STATE, **ask})
    assert approver.decide(asked, "approve").status == 200
    return f"/requests/{asked['id']}"


def take(machine: Machine, path: str, by: str = "worker-1", seconds: int = 60):
    return machine.post(f"{path}/resume", {"by": by, "lease_seconds": seconds})


def end_lease(path: str) -> None:
    """As if the lease had ended an hour ago."""
    Resumption.objects.filter(pk=path.rpartition("/")[2]).update(leased_until=timezone.now() - timedelta(hours=1))


def events(path: str) -> list[tuple[str, str, dict]]:
    found = AuditEntry.objects.filter(request_id=path.rpartition("/")[2], event__startswith="resume.").order_by("id")
    return [(entry.event, entry.actor_name, entry.data) for entry in found]


def test_the_state_is_handed_out_once_with_the_decision(agent, approver):
    path = decided(agent, approver)
    taken = take(agent, path)
    assert (taken.status, taken.body["state"], taken.body["attempt"]) == (200, STATE, 1)
    assert (taken.body["by"], taken.body["lost_by"]) == ("API key a machine of alice (worker-1)", None)
    assert taken.body["request"] == agent.get(path).body
    second = take(agent, path, "worker-2")
    assert second.refusal == (409, "resume_taken")
    assert second.body["resume"]["by"] == taken.body["by"]
    assert second.body["resume"]["leased_until"] == taken.body["leased_until"]
    assert 1 <= int(second.headers["retry-after"]) <= 61


def test_a_completion_is_final_and_may_be_repeated_with_its_token(agent, approver):
    path = decided(agent, approver)
    token = {"token": take(agent, path).body["token"]}
    first, again = agent.post(f"{path}/resume/complete", token), agent.post(f"{path}/resume/complete", token)
    assert (first.status, first.replayed, again.status, again.replayed) == (200, False, 200, True)
    assert first.body == again.body
    late = take(agent, path, "worker-2")
    assert late.refusal == (409, "already_resumed")
    assert late.body["resume"]["completed_at"] == first.body["completed_at"]
    for call in ("renew", "release"):
        assert agent.post(f"{path}/resume/{call}", token).refusal == (409, "already_resumed")
    assert not ResumeState.objects.exists()
    assert [(event, name) for event, name, _data in events(path)] == [
        ("resume.taken", "API key a machine of alice"),
        ("resume.completed", "API key a machine of alice"),
    ]


def test_a_request_without_a_state_can_be_resumed_once_too(agent, approver):
    path = decided(agent, approver, resume_state=None)
    assert take(agent, path).body["state"] is None
    assert take(agent, path).refusal == (409, "resume_taken")


def test_a_waiting_request_cannot_be_resumed_and_an_expired_one_can(agent):
    asked = agent.ask()
    assert take(agent, f"/requests/{asked['id']}").refusal == (409, "not_decided")
    ApprovalRequest.objects.filter(pk=asked["id"]).update(deadline_at=timezone.now() - timedelta(minutes=1))
    assert take(agent, f"/requests/{asked['id']}").body["request"]["status"] == "expired"


def test_a_lease_is_renewed_while_it_lasts(agent, approver):
    path = decided(agent, approver)
    taken = take(agent, path, seconds=5).body
    renewed = agent.post(f"{path}/resume/renew", {"token": taken["token"], "lease_seconds": 3600})
    assert renewed.status == 200
    assert renewed.body["leased_until"] > taken["leased_until"]
    end_lease(path)
    assert agent.post(f"{path}/resume/renew", {"token": taken["token"]}).refusal == (409, "resume_lost")


def test_what_is_given_back_can_be_taken_at_once(agent, approver):
    path = decided(agent, approver)
    token = take(agent, path).body["token"]
    assert agent.post(f"{path}/resume/release", {"token": token, "reason": "No model"}).body["leased_until"] is None
    for call in ("renew", "release", "complete"):
        assert agent.post(f"{path}/resume/{call}", {"token": token}).refusal == (409, "resume_lost")
    again = take(agent, path, "worker-2").body
    assert (again["attempt"], again["state"], again["lost_by"]) == (2, STATE, None)
    assert [(event, data.get("comment")) for event, _name, data in events(path)] == [
        ("resume.taken", None),
        ("resume.released", "No model"),
        ("resume.taken", None),
    ]


@pytest.mark.parametrize("swept", [True, False])
def test_the_resume_of_one_who_died_is_handed_to_another_who_is_told(agent, approver, swept):
    path = decided(agent, approver)
    dead = take(agent, path).body
    end_lease(path)
    if swept:
        sweep.free_lost_resumes()
        sweep.free_lost_resumes()
    again = take(agent, path, "worker-2").body
    assert (again["attempt"], again["lost_by"], again["state"]) == (2, dead["by"], STATE)
    assert [(event, name) for event, name, _data in events(path)] == [
        ("resume.taken", "API key a machine of alice"),
        ("resume.lost", ""),
        ("resume.taken", "API key a machine of alice"),
    ]
    for call in ("renew", "release", "complete"):
        reply = agent.post(f"{path}/resume/{call}", {"token": dead["token"]})
        assert reply.refusal == (409, "resume_lost")
        assert reply.body["resume"]["by"] == again["by"]


def test_who_was_too_slow_can_complete_while_nobody_else_has_taken_it(agent, approver):
    path = decided(agent, approver)
    token = take(agent, path).body["token"]
    end_lease(path)
    sweep.free_lost_resumes()
    assert agent.post(f"{path}/resume/complete", {"token": token}).status == 200
    assert [event for event, _name, _data in events(path)] == ["resume.taken", "resume.lost", "resume.completed"]
    assert take(agent, path).refusal == (409, "already_resumed")


def test_a_repeat_of_a_take_gets_the_same_token_while_that_holds_the_resume(agent, approver):
    path, key = decided(agent, approver), {"idempotency_key": "try-1"}
    first, again = (agent.post(f"{path}/resume", {"by": "worker-1"}, **key) for _ in range(2))
    assert (first.status, first.replayed, again.status, again.replayed) == (200, False, 200, True)
    assert first.body == again.body
    assert agent.post(f"{path}/resume", {}, idempotency_key="try-2").refusal == (409, "resume_taken")
    agent.post(f"{path}/resume/complete", {"token": first.body["token"]})
    assert agent.post(f"{path}/resume", {}, **key).refusal == (409, "already_resumed")
    assert [event for event, _name, _data in events(path)] == ["resume.taken", "resume.completed"]


def test_a_result_that_was_reported_is_told_to_the_next_attempt(agent, approver):
    path = decided(agent, approver)
    taken = take(agent, path).body
    assert taken["result"] is None
    digest = taken["request"]["decision"]["approved_digest"]
    agent.post(f"{path}/result", {"input_digest": digest, "output": {"refunded": 120}})
    end_lease(path)
    again = take(agent, path).body
    reported = again["result"]
    assert reported == again["request"]["result"]
    assert reported == {
        "state": "succeeded",
        "output": {"refunded": 120},
        "error": None,
        "executed_digest": digest,
        "reported_at": reported["reported_at"],
    }


def test_only_the_one_who_asked_resumes(agent, approver):
    path, stranger = decided(agent, approver), Machine(mallory())
    assert take(stranger, path).refusal == (404, "not_found")
    assert take(Machine(carol()), path).refusal == (403, "not_allowed")
    assert take(approver, path).refusal == (403, "not_allowed")
    assert take(Machine(agent.key.user, ("read", "decide", "audit")), path).refusal == (403, "scope_missing")
    assert take(Machine(), path).refusal == (401, "not_authenticated")
    token = take(Machine(agent.key.user, ("ask",)), path).body["token"]
    for call in ("renew", "release", "complete"):
        assert stranger.post(f"{path}/resume/{call}", {"token": token}).refusal == (404, "not_found")
        assert agent.post(f"{path}/resume/{call}", {"token": f"{token}x"}).refusal == (409, "resume_lost")
    assert agent.post("/requests/00000000-0000-4000-8000-000000000000/resume").refusal == (404, "not_found")


def test_nobody_reads_the_state_anywhere_else(agent, approver):
    path = decided(agent, approver)
    auditor = Machine(carol())
    auditor.key.user.user_permissions.add(Permission.objects.get(codename="view_auditentry"))
    shown = [
        agent.get(path).body,
        agent.get("/requests").body,
        approver.get("/requests").body,
        [entry.body for entry in AuditEntry.objects.all()],
    ]
    take(agent, path)
    shown += [agent.post(f"{path}/resume").body, [entry.body for entry in AuditEntry.objects.all()]]
    assert [found for found in shown if "Refund 4711, Z" in json.dumps(found, ensure_ascii=False)] == []
    (sealed,) = ResumeState.objects.values_list("sealed", flat=True)
    assert ("Refund" in sealed, sealed.startswith("gAAAA")) == (False, True)


def test_a_repeat_of_the_same_call_keeps_one_state_and_another_state_is_refused(agent):
    ask = {**APPROVAL, "tool_call_id": "call-1", "resume_state": STATE}
    assert [agent.post("/requests", ask).status for _ in range(2)] == [201, 200]
    assert agent.post("/requests", ask | {"resume_state": "another"}).refusal == (409, "conflict")
    assert ResumeState.objects.count() == 1


def test_a_new_secret_key_reads_what_an_earlier_one_has_encrypted(agent, approver):
    old, new = "an earlier secret key, long enough", "a new secret key, which is long too"
    with override_settings(SECRET_KEY=old):
        path = decided(agent, approver)
    with override_settings(SECRET_KEY=new):
        assert take(agent, path).refusal == (409, "state_unreadable")
        assert not Resumption.objects.exists()
    with override_settings(SECRET_KEY=new, SECRET_KEY_FALLBACKS=["x", old]):
        assert take(agent, path).body["state"] == STATE


def test_pruning_erases_the_states_of_requests_that_ended_long_ago(agent, approver):
    old, waiting, recent = decided(agent, approver), agent.ask(resume_state=STATE), decided(agent, approver)
    ago = timezone.now() - timedelta(days=31)
    ApprovalRequest.objects.filter(pk__in=[old.rpartition("/")[2], waiting["id"]]).update(changed_at=ago)
    said = StringIO()
    call_command("prune", "--older-than", "30d", stdout=said)
    assert "1 stored states of runs" in said.getvalue()
    assert ResumeState.objects.exclude(sealed="").count() == 3
    call_command("prune", "--older-than", "30d", "--yes", stdout=said)
    assert "Removed 1 stored state." in said.getvalue()
    assert take(agent, old).refusal == (410, "state_erased")
    assert take(agent, recent).body["state"] == STATE
    assert ResumeState.objects.exclude(sealed="").count() == 2
    (pruned,) = AuditEntry.objects.filter(event="retention.pruned")
    assert pruned.data["resume_states"] == 1


@pytest.mark.parametrize("state", ["", 7, ["x"], {}, "x" * 1_000_001, "\x00", "\ud800"])
def test_a_state_that_is_no_text_within_bounds_is_refused_and_nothing_is_stored(agent, state):
    reply = agent.post("/requests", {**APPROVAL, "resume_state": state})
    assert reply.refusal in {(400, "bad_body"), (413, "too_large"), (422, "invalid")}
    assert not ApprovalRequest.objects.exists()


def test_the_largest_state_is_kept_and_comes_back_as_it_was(agent, approver):
    state = "é" * 450_000
    asked = agent.send(
        "POST", "/requests", json.dumps({**APPROVAL, "resume_state": state}, ensure_ascii=False).encode()
    )
    approver.decide(asked.body, "approve")
    assert take(agent, f"/requests/{asked.body['id']}").body["state"] == state


@pytest.mark.parametrize(
    "body", [[], None, "x", {"by": 1}, {"by": "x" * 101}, {"lease_seconds": 0}, {"lease_seconds": 3601},
             {"lease_seconds": 1.5}, {"lease_seconds": True}, {"token": "x"}]
)  # fmt: skip
def test_a_malformed_take_takes_nothing(agent, approver, body):
    path = decided(agent, approver)
    assert agent.send("POST", f"{path}/resume", json.dumps(body).encode()).refusal == (422, "invalid")
    assert not Resumption.objects.exists()


@pytest.mark.parametrize("call", ["renew", "release", "complete"])
def test_a_malformed_token_holds_nothing(agent, approver, call):
    path = decided(agent, approver)
    for body in ({}, {"token": ""}, {"token": 1}, {"token": "x" * 201}, {"token": None}):
        assert agent.post(f"{path}/resume/{call}", body).refusal == (422, "invalid")
    assert agent.post(f"{path}/resume/{call}", {"token": "é"}).refusal == (409, "resume_lost")
    assert agent.post(f"{path}/resume/{call}", {"token": "\x00"}).refusal == (400, "bad_body")


def test_the_name_of_a_worker_shows_its_invisible_characters(agent, approver):
    path = decided(agent, approver)
    assert take(agent, path, "a\u200bb").body["by"] == "API key a machine of alice (a⟨U+200B⟩b)"


@pytest.mark.django_db(transaction=True)
def test_a_state_costs_one_statement_and_no_state_none(agent):
    agent.get("/requests")  # notes that the key is used, once a minute
    without = cost(lambda: agent.ask(tool_call_id="call-1"))
    assert cost(lambda: agent.ask(tool_call_id="call-2", resume_state=STATE)) == without + 1
