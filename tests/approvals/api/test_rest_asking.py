"""Asking over REST: stored rows, repeats, conflicts, and invalid requests."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone

from approvals import actions
from approvals.asking.digests import input_digest
from approvals.models import ApprovalRequest, AuditEntry, Workflow
from tests.support.machine import API, APPROVAL, QUESTION, Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def workflow_of(document) -> Workflow:
    return Workflow.objects.get(scope=document["scope"], key=document["workflow_id"])


def test_a_new_request_is_stored_and_returned():
    owner = alice()
    agent = Machine(owner)
    asked = agent.ask(
        APPROVAL,
        message="**120 EUR**",
        tool_call_id="call-1",
        workflow_id="run-7",
        step_path=["billing", "refund"],
        thread_id="thread-1",
        agent="support",
        priority="high",
        callback_url="https://agents.example.org/answers",
        assigned_to=bob().username,
        context={"customer": 4711},
        messages=[{"role": "user", "text": "It arrived broken."}],
    )
    stored = ApprovalRequest.objects.select_related("workflow", "requested_by", "assigned_to").get()
    assert asked == {
        "id": str(stored.pk),
        "url": f"{settings.PUBLIC_URL}/requests/{stored.pk}/",
        "workflow_id": "run-7",
        "scope": agent.scope,
        "step_path": ["billing", "refund"],
        "thread_id": "thread-1",
        "agent": "support",
        "kind": "approval",
        "title": "Refund order 4711?",
        "message": "**120 EUR**",
        "tool_name": "refund",
        "tool_call_id": "call-1",
        "input": {"amount": 120},
        "input_digest": input_digest({"amount": 120}),
        "digest_salt": None,
        "response_schema": None,
        "options": [],
        "multiple": False,
        "allow_text": False,
        "field_name": "",
        "suggestions": [],
        "context": {"customer": 4711},
        "attachments": [],
        "messages": [{"role": "user", "text": "It arrived broken."}],
        "priority": "high",
        "status": "pending",
        "requested_by": "alice",
        "on_behalf_of": "",
        "assigned_to": "bob",
        "claimed_by": None,
        "claimed_until": None,
        "created_at": asked["created_at"],
        "changed_at": asked["created_at"],
        "deadline_at": None,
        "progress": None,
        "rule": None,
        "has_default": False,
        "default_response": None,
        "callback_url": "https://agents.example.org/answers",
        "callback": None,
        **dict.fromkeys(["decision", "votes", "result"]),
        "warnings": [],
        "advice": [],
    }
    workflow = stored.workflow
    assert (workflow.scope, workflow.key, workflow.source, workflow.owner) == (agent.scope, "run-7", "api", owner)
    assert AuditEntry.objects.exclude(event="key.created").values_list("event", "via", "actor_name").get() == (
        "request.created",
        "api",
        "API key a machine of alice",
    )
    assert agent.get(f"/requests/{stored.pk}").body == asked


def test_options_keep_their_ids_and_descriptions():
    options = [{"label": "S"}, {"label": "M", "id": "m", "description": "*fits most*"}]
    asked = Machine(alice()).ask(QUESTION, options=options, multiple=True, allow_text=True)
    assert (asked["options"], asked["multiple"], asked["allow_text"]) == (options, True, True)


def test_a_timeout_is_counted_from_now_and_a_deadline_is_kept():
    agent = Machine(alice())
    before = timezone.now()
    until = ApprovalRequest.objects.get(pk=agent.ask(timeout=60_000)["id"]).deadline_at
    assert before <= until - timedelta(minutes=1) <= timezone.now()
    assert agent.ask(deadline="2099-01-01T01:00:00+01:00")["deadline_at"] == "2099-01-01T00:00:00.000000Z"
    assert agent.ask(timeout=0)["deadline_at"] is None


def test_null_is_a_default_response_and_none_is_no_default_response():
    agent = Machine(alice())
    with_null, without = agent.ask(QUESTION, default_response=None), agent.ask(QUESTION)
    assert [(one["has_default"], one["default_response"]) for one in (with_null, without)] == [
        (True, None),
        (False, None),
    ]


def test_a_request_without_a_workflow_gets_one_that_ends_with_it():
    agent, decider = Machine(alice()), Machine(bob())
    for verdict, state in (("approve", "completed"), ("reject", "completed"), (None, "cancelled")):
        asked = agent.ask()
        assert (asked["workflow_id"], workflow_of(asked).state) == (asked["id"], "suspended")
        if verdict:
            assert decider.decide(asked, verdict).status == 200
        else:
            assert decider.post(f"/requests/{asked['id']}/cancel").status == 200
        ended = workflow_of(asked)
        assert (ended.state, ended.ended_at is not None, ended.open_count) == (state, True, 0)


def test_a_named_workflow_goes_on_until_it_is_ended():
    agent, decider = Machine(alice()), Machine(bob())
    first = agent.ask(workflow_id="run-1")
    decider.decide(first, "approve")
    assert workflow_of(first).state == "running"
    assert agent.ask(workflow_id="run-1")["workflow_id"] == "run-1"
    assert workflow_of(first).state == "suspended"


@pytest.mark.parametrize("named", [{"tool_call_id": "call-1"}, {}])
def test_repeating_a_request_returns_the_existing_one(named):
    agent = Machine(alice())
    key = {} if named else {"idempotency_key": "order-4711"}
    first = agent.post("/requests", APPROVAL | named | {"timeout": 60_000}, **key)
    again = agent.post("/requests", APPROVAL | named | {"timeout": 60_000, "message": ""}, **key)
    assert (first.status, first.replayed, again.status, again.replayed) == (201, False, 200, True)
    assert (again.body, ApprovalRequest.objects.count(), Workflow.objects.count()) == (first.body, 1, 1)


@pytest.mark.shows("rest", "once")
def test_repeating_a_request_returns_its_decision_too():
    agent, decider = Machine(alice()), Machine(bob())
    asked = agent.ask(tool_call_id="call-1")
    decider.decide(asked, "approve")
    again = agent.post("/requests", APPROVAL | {"tool_call_id": "call-1"})
    assert (again.status, again.body["status"], again.body["decision"]["verdict"]) == (200, "approved", "approve")


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Another?"},
        {"input": {"amount": 121}},
        {"input": {"amount": True}},
        {"message": "More."},
        {"timeout": 5000},
        {"workflow_id": "run-2"},
        {"context": 1},
        {"callback_url": "https://elsewhere.example.org/"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_different_request_under_the_same_key_is_a_conflict(changes):
    agent = Machine(alice())
    asked = agent.ask(tool_call_id="call-1", input={"amount": 1})
    by_call = agent.post("/requests", APPROVAL | {"tool_call_id": "call-1", "input": {"amount": 1}} | changes)
    assert (by_call.refusal, by_call.body["request_id"]) == ((409, "conflict"), asked["id"])
    agent.post("/requests", APPROVAL, idempotency_key="k")
    assert agent.post("/requests", APPROVAL | changes, idempotency_key="k").refusal == (409, "conflict")
    assert ApprovalRequest.objects.count() == 2


def test_a_tool_call_with_an_approval_cannot_ask_a_question():
    agent = Machine(alice())
    asked = agent.ask(tool_call_id="call-1")
    refused = agent.post("/requests", QUESTION | {"tool_call_id": "call-1"})
    assert (refused.refusal, refused.body["request_id"]) == ((409, "conflict"), asked["id"])


def test_a_default_of_null_differs_from_no_default():
    agent = Machine(alice())
    agent.ask(QUESTION, tool_call_id="q")
    assert agent.post("/requests", QUESTION | {"tool_call_id": "q", "default_response": None}).refusal == (
        409,
        "conflict",
    )


def test_idempotency_keys_of_different_api_keys_are_separate():
    owner = alice()
    one, other = Machine(owner), Machine(owner)
    asked = [agent.ask(tool_call_id="call-1", workflow_id="run-1") for agent in (one, other)]
    assert (asked[0]["id"] != asked[1]["id"], Workflow.objects.count()) == (True, 2)


def test_an_ended_workflow_accepts_no_request():
    agent = Machine(alice())
    agent.ask(workflow_id="run-1")
    assert agent.post("/workflows/run-1/end", {"outcome": "failed"}).status == 200
    assert agent.post("/requests", APPROVAL | {"workflow_id": "run-1"}).refusal == (409, "conflict")


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"kind": "recovery"}, ["kind"]),
        ({"title": ""}, ["title"]),
        ({"title": "x" * 201}, ["title"]),
        ({"titel": "x"}, ["titel"]),
        ({"input": [1]}, ["input"]),
        ({"timeout": "5"}, ["timeout"]),
        ({"timeout": -1}, ["timeout"]),
        ({"timeout": True}, ["timeout"]),
        ({"multiple": 1}, ["multiple"]),
        ({"deadline": "tomorrow"}, ["deadline"]),
        ({"deadline": "2099-01-01T00:00:00"}, ["deadline"]),
        ({"deadline": "0001-01-01T00:00:00+23:59"}, ["deadline"]),
        ({"deadline": 5}, ["deadline"]),
        ({"deadline": "2099-01-01T00:00:00Z", "timeout": 5}, ["deadline"]),
        ({"kind": "form"}, ["response_schema"]),
        ({"response_schema": {"type": 5}}, ["response_schema"]),
        ({"response_schema": {"pattern": "(a"}}, ["response_schema"]),
        ({"default_response": {}}, ["default_response"]),
        ({"kind": "form", "response_schema": {"type": "string"}, "default_response": 1}, ["default_response"]),
        ({"workflow_id": "a/b"}, ["workflow_id"]),
        ({"workflow_id": ".."}, ["workflow_id"]),
        ({"callback_url": "javascript:alert(1)"}, ["callback_url"]),
        ({"callback_url": "https://user:secret@example.org/"}, ["callback_url"]),
        ({"assigned_to": "nobody"}, ["assigned_to"]),
        ({"step_path": ["a", 1]}, ["step_path.1"]),
        ({"options": ["S"]}, ["options.0"]),
        ({"options": [{"label": "a", "extra": 1}]}, ["options.0.extra"]),
    ],
)
def test_an_invalid_request_is_refused_field_by_field(changes, fields):
    reply = Machine(alice()).post("/requests", APPROVAL | changes)
    assert (reply.refusal, sorted(reply.body["errors"])) == ((422, "invalid"), sorted(fields))
    assert (ApprovalRequest.objects.count(), Workflow.objects.count()) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_identical_concurrent_posts_create_one_request_without_an_error():
    owner = alice()
    agents = [Machine(owner) for _ in range(4)]
    for agent in agents:
        agent.headers = agents[0].headers
    replies, start = [], threading.Barrier(len(agents))

    def post(agent: Machine) -> None:
        start.wait()
        replies.append(
            agent.post("/requests", APPROVAL | {"tool_call_id": "c", "workflow_id": "w"}, idempotency_key="k")
        )
        connection.close()

    threads = [threading.Thread(target=post, args=[agent]) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(reply.status for reply in replies) == [200, 200, 200, 201]
    assert len({reply.body["id"] for reply in replies}) == 1
    assert (ApprovalRequest.objects.count(), Workflow.objects.count()) == (1, 1)


def test_the_loser_of_a_race_for_the_unique_constraint_gets_the_winners_request(monkeypatch):
    """Like a database that runs both at once: neither finds the other's row before it writes its own."""
    agent, asking = Machine(alice()), actions.asking
    first = agent.ask(tool_call_id="c", workflow_id="w")
    known, looks = asking._known, []

    def blind_at_first(ask, origin):
        looks.append(origin)
        return None if len(looks) == 1 else known(ask, origin)

    monkeypatch.setattr(asking, "_known", blind_at_first)
    again = agent.post("/requests", APPROVAL | {"tool_call_id": "c", "workflow_id": "w"})
    assert (again.status, again.replayed, again.body["id"], len(looks)) == (200, True, first["id"], 2)
    assert ApprovalRequest.objects.count() == 1


def test_a_callback_needs_a_key_to_be_signed_with():
    client, token = Client(), "a" * 32
    client.force_login(alice())
    client.cookies["csrftoken"] = token
    body = APPROVAL | {"callback_url": "https://agents.example.org/"}
    refused = client.post(f"{API}/requests", body, content_type="application/json", headers={"x-csrftoken": token})
    assert (refused.status_code, sorted(refused.json()["errors"])) == (422, ["callback_url"])
    assert ApprovalRequest.objects.count() == 0
