"""POST /api/v1/ask-human: AgentForge's input, its limits and defaults, its output."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.utils import timezone

from approvals import actions
from approvals.access import callers
from approvals.access.standing import standing_of
from approvals.administration.keys.actions import create_key
from approvals.asking import answers
from approvals.background import sweep
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest, AuditEntry, Workflow
from approvals.models.keys import ApiKey
from approvals.states import Door, Verdict
from tests.support.desk.requests import make_request
from tests.support.machines import Answer, Machine, machine
from tests.support.people import alice, bob, carol, mallory

ADDRESS = "/api/v1/ask-human"
QUESTION = {"question": "Which colour?"}

pytestmark = pytest.mark.django_db(transaction=True)


def only() -> ApprovalRequest:
    return ApprovalRequest.objects.select_related("workflow", "decision").get()


def respond(by, answer: object, verdict: Verdict = Verdict.RESPOND, **said) -> None:
    given = {"answer": answer} if verdict == Verdict.RESPOND else {}
    actions.decide(only().pk, answers.Answer(verdict, **given, **said), by=by, via=Door.DASHBOARD)


def pass_deadline() -> None:
    """The fake clock: the deadline is moved to before now, and the sweep looks."""
    ApprovalRequest.objects.update(deadline_at=timezone.now() - timedelta(milliseconds=1))
    sweep.expire_due_requests()


def outcome_of(asker: Machine, **headers: str) -> Answer:
    return asker.get(f"{ADDRESS}/{only().pk}", headers=headers)


def test_asking_responds_at_once_with_the_waiting_request():
    asker = machine(alice())
    key = ApiKey.objects.get()
    body = {**QUESTION, "context": {"order": 7}, "priority": "high", "timeout": 60_000, "suggestions": ["red", "blue"]}
    answer = asker.post(f"{ADDRESS}?thread=t-1", body)
    asked = only()
    assert answer.status == 202
    assert answer.json == {
        "requestId": str(asked.pk),
        "status": "pending",
        "requestedAt": round(asked.created_at.timestamp() * 1000),
        "priority": "high",
        "url": f"http://127.0.0.1:8000/requests/{asked.pk}/",
    }
    assert answer.headers["location"] == f"{ADDRESS}/{asked.pk}"
    assert (asked.kind, asked.title, asked.message, asked.context, asked.suggestions) == (
        "question",
        "Which colour?",
        "",
        {"order": 7},
        ["red", "blue"],
    )
    assert (asked.input, asked.has_default, asked.scope) == (body, False, f"key:{key.pk}")
    assert abs((asked.deadline_at - asked.created_at).total_seconds() - 60) < 30
    workflow = asked.workflow
    assert (workflow.source, workflow.thread_id, workflow.state) == ("ask-human", "t-1", "suspended")
    assert list(AuditEntry.objects.exclude(event="key.created").values_list("event", "via", "actor_name")) == [
        ("request.created", "ask-human", "API key test of alice")
    ]


@pytest.mark.shows("ask-human", "answer", "person")
def test_the_answer_comes_in_agentforges_output_shape_and_ends_the_workflow():
    asker, decider = machine(alice()), bob()
    asker.post(ADDRESS, {**QUESTION, "priority": "critical"})
    assert outcome_of(asker).status == 202
    respond(decider, "blue")
    asked, answer = only(), outcome_of(asker)
    requested, responded = (round(m.timestamp() * 1000) for m in (asked.created_at, asked.decision.decided_at))
    assert (answer.status, answer.json) == (
        200,
        {
            "response": "blue",
            "metadata": {
                "requestId": str(asked.pk),
                "requestedAt": requested,
                "respondedAt": responded,
                "duration": responded - requested,
                "timedOut": False,
                "priority": "critical",
            },
        },
    )
    workflow = Workflow.objects.get()
    assert (workflow.state, workflow.open_count, workflow.suspended_at) == ("completed", 0, None)
    assert workflow.ended_at == asked.changed_at


def test_an_answer_that_is_not_text_is_refused():
    machine(alice()).post(ADDRESS, QUESTION)
    decider = bob()
    for answer in (None, 7, {"selected": ["blue"]}):
        with pytest.raises(Invalid):
            respond(decider, answer)
    assert only().status == "pending"


@pytest.mark.parametrize("default", ["", "red"])
def test_at_the_deadline_the_default_is_the_answer_even_if_it_is_empty(default):
    asker = machine(alice())
    asker.post(ADDRESS, {**QUESTION, "timeout": 60_000, "defaultResponse": default})
    pass_deadline()
    answer = outcome_of(asker)
    assert (answer.status, answer.json["response"], answer.json["metadata"]["timedOut"]) == (200, default, True)
    assert (only().status, only().decision.by_id, Workflow.objects.get().state) == ("expired", None, "completed")


@pytest.mark.shows("ask-human", "expire")
def test_at_the_deadline_a_question_without_a_default_is_an_error():
    asker = machine(alice())
    asker.post(ADDRESS, {**QUESTION, "timeout": 60_000})
    pass_deadline()
    answer = outcome_of(asker)
    assert (answer.status, answer.code, answer.json["decision"]["by"]) == (410, "expired", None)
    assert Workflow.objects.get().state == "failed"


def test_a_timeout_of_zero_never_expires():
    machine(alice()).post(ADDRESS, {**QUESTION, "timeout": 0, "defaultResponse": "x"})
    assert only().deadline_at is None


@pytest.mark.shows("ask-human", "cancel")
def test_a_cancelled_question_responds_410_and_its_workflow_is_cancelled():
    owner = alice()
    asker = machine(owner)
    asker.post(ADDRESS, QUESTION)
    actions.cancel(only().pk, by=owner, via=Door.DASHBOARD, comment="Solved.")
    answer = outcome_of(asker)
    assert (answer.status, answer.code) == (410, "cancelled")
    assert answer.json["detail"] == "This request was cancelled just now by alice. Their comment: Solved."
    assert Workflow.objects.get().state == "cancelled"


@pytest.mark.shows("ask-human", "reject")
def test_declining_returns_text_that_the_agent_can_read():
    asker = machine(alice())
    asker.post(ADDRESS, QUESTION)
    respond(bob(), None, Verdict.REJECT, comment="Ask sales.")
    answer = outcome_of(asker)
    assert (answer.status, answer.json["response"]) == (200, "The person declined to answer. Their words: Ask sales.")


@pytest.mark.shows("ask-human", "once", "crash")
def test_repeating_a_question_does_not_ask_twice_and_returns_its_outcome():
    asker = machine(alice())
    first, again = (asker.post(ADDRESS, QUESTION, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status, again.status, again.json) == (202, 202, first.json)
    assert [answer.headers.get("idempotent-replayed") for answer in (first, again)] == [None, "true"]
    respond(bob(), "blue")
    later = asker.post(f"{ADDRESS}?wait=30", QUESTION, headers={"Idempotency-Key": "k"})
    assert (later.status, later.json["response"]) == (200, "blue")
    assert (Workflow.objects.count(), Workflow.objects.get().state) == (1, "completed")


@pytest.mark.parametrize("changed", [("", {"question": "Which size?"}), ("", {"timeout": 5000}), ("?thread=t-2", {})])
def test_another_question_under_the_same_key_is_a_conflict(changed):
    asker = machine(alice())
    asker.post(ADDRESS, QUESTION, headers={"Idempotency-Key": "k"})
    query, more = changed
    refused = asker.post(ADDRESS + query, {**QUESTION, **more}, headers={"Idempotency-Key": "k"})
    assert (refused.status, refused.code, refused.json["request_id"]) == (409, "conflict", str(only().pk))


@pytest.mark.parametrize("key", ["two words", "ä", "", "x" * 201])
def test_an_invalid_idempotency_key_is_refused(key):
    refused = machine(alice()).post(ADDRESS, QUESTION, headers={"Idempotency-Key": key})
    assert (refused.status, sorted(refused.json["errors"])) == (422, ["Idempotency-Key"])


def test_a_thread_is_text_of_at_most_200_characters():
    asker = machine(alice())
    answers = {thread: asker.post(f"{ADDRESS}?thread={thread}", QUESTION) for thread in ("x" * 201, "%00", "x" * 200)}
    assert [(answer.status, answer.json.get("errors")) for answer in answers.values()] == [
        (422, {"thread": "is longer than 200 characters"}),
        (422, {"thread": "text contains a NUL or an unpaired surrogate"}),
        (202, None),
    ]
    assert only().workflow.thread_id == "x" * 200


def test_a_caller_without_permission_is_told_why():
    owner = alice()
    reader, asker, stranger = machine(owner, "read"), machine(owner, "ask"), machine(mallory())
    key = create_key(owner, name="app")[0]
    caller = callers.Caller(user=owner, standing=standing_of(owner), scopes=callers.ALL, key=key)
    token = Machine(callers.client_token(caller, thread="c1"))
    assert asker.post(ADDRESS, QUESTION).status == 202
    one = f"{ADDRESS}/{only().pk}"
    unknown = [Machine("pp_x_y").post(ADDRESS, QUESTION), Machine().post(ADDRESS, QUESTION), Machine().get(one)]
    assert [(answer.status, answer.code) for answer in unknown] == [(401, "not_authenticated")] * 3
    assert (reader.post(ADDRESS, QUESTION).code, asker.get(one).code) == ("scope_missing", "scope_missing")
    assert [(a.status, a.code) for a in (token.post(ADDRESS, QUESTION), token.get(one))] == [(403, "not_allowed")] * 2
    assert [(a.status, a.code) for a in (stranger.get(one), reader.get(f"{ADDRESS}/{uuid4()}"))] == [
        (404, "not_found")
    ] * 2
    assert machine(carol()).get(one).status == 202
    assert (reader.get(ADDRESS).code, reader.get(ADDRESS).headers["allow"]) == ("method_not_allowed", "POST")
    assert ApprovalRequest.objects.count() == 1


def test_a_person_in_a_browser_asks_with_a_session_and_its_csrf_token():
    owner = alice()
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner)
    refused = browser.post(ADDRESS, QUESTION, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "csrf")
    browser.cookies["csrftoken"] = "a" * 32
    sent = browser.post(ADDRESS, QUESTION, content_type="application/json", headers={"x-csrftoken": "a" * 32})
    assert (sent.status_code, only().scope) == (202, f"user:{owner.pk}")


def test_a_request_that_is_not_a_question_has_no_outcome_here():
    owner = alice()
    approval = make_request(owner)
    assert machine(owner).get(f"{ADDRESS}/{UUID(str(approval.pk))}").code == "not_found"
