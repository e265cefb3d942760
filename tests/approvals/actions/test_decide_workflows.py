"""Creating requests, and the counters of their workflow."""

from __future__ import annotations

import pytest

from approvals import actions
from approvals.asking.asks import Ask
from approvals.asking.digests import input_digest
from approvals.db.prepared_writes import write_together
from approvals.exceptions import Conflict, Invalid
from approvals.models import ApprovalRequest, AuditEntry, Workflow
from approvals.states import ENDED, Kind, Priority, Verdict, WorkflowState
from tests.support.desk.requests import (
    PAST,
    REFUND,
    cancel,
    decide,
    make_ask,
    make_request,
    make_workflow,
    stored,
    waits,
)
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def test_a_workflow_counts_its_waiting_requests_and_has_the_urgency_of_the_most_urgent():
    owner, decider = alice(), bob()
    workflow = make_workflow(owner)
    assert waits(workflow) == ("running", 0, None, False)
    low = make_request(owner, workflow=workflow, priority=Priority.LOW)
    assert waits(workflow) == ("suspended", 1, 3, True)
    critical = make_request(owner, workflow=workflow, priority=Priority.CRITICAL, deadline_at=PAST)
    assert waits(workflow) == ("suspended", 2, 0, True)
    normal = make_request(owner, workflow=workflow)
    assert waits(workflow) == ("suspended", 3, 0, True)
    since = Workflow.objects.get(pk=workflow.pk).suspended_at
    assert since == low.created_at
    actions.expire(critical.pk)
    assert waits(workflow) == ("suspended", 2, 2, True)
    decide(normal, decider, Verdict.REJECT)
    assert waits(workflow) == ("suspended", 1, 3, True)
    assert Workflow.objects.get(pk=workflow.pk).suspended_at == since
    cancel(low, owner)
    assert waits(workflow) == ("running", 0, None, False)
    again = make_request(owner, workflow=workflow, priority=Priority.HIGH)
    assert waits(workflow) == ("suspended", 1, 1, True)
    assert Workflow.objects.get(pk=workflow.pk).suspended_at == again.created_at


def test_requests_of_one_workflow_do_not_touch_another():
    owner, decider = alice(), bob()
    one, other = make_request(owner), make_request(owner)
    decide(one, decider, Verdict.APPROVE)
    assert (waits(one.workflow), waits(other.workflow)) == (("running", 0, None, False), ("suspended", 1, 2, True))


@pytest.mark.parametrize("state", sorted(ENDED))
def test_a_workflow_ends_once_and_only_without_waiting_requests(state):
    owner, decider = alice(), bob()
    request = make_request(owner)
    write_together([actions.end_of_workflow(request.workflow, state=state)])
    assert waits(request.workflow) == ("suspended", 1, 2, True)
    decide(request, decider, Verdict.APPROVE)
    write_together([actions.end_of_workflow(request.workflow, state=state)])
    ended = Workflow.objects.get(pk=request.workflow_id)
    assert (ended.state, ended.ended, ended.ended_at is not None, waits(ended)[1:]) == (
        state,
        True,
        True,
        (0, None, False),
    )
    write_together([actions.end_of_workflow(ended, state=next(other for other in ENDED if other != state))])
    assert (
        Workflow.objects.values().get() == Workflow.objects.filter(state=state, ended_at=ended.ended_at).values().get()
    )


def test_an_ended_workflow_takes_no_request():
    owner = alice()
    workflow = make_workflow(owner)
    write_together([actions.end_of_workflow(workflow, state=WorkflowState.COMPLETED)])
    with pytest.raises(Conflict, match=r"^This workflow has ended\."):
        make_request(owner, workflow=workflow)
    assert (ApprovalRequest.objects.count(), waits(workflow)) == (0, ("completed", 0, None, False))


def test_open_workflow_returns_an_existing_workflow():
    owner = alice()
    first = make_workflow(owner, key="run-1", title="t" * 300)
    assert make_workflow(owner, key="run-1", title="other") == first
    assert Workflow.objects.values_list("key", "title").get() == ("run-1", "t" * 200)
    assert make_workflow(owner, key="run-1", scope="key:2") != first


def test_asking_the_same_again_returns_the_existing_request_whatever_its_status():
    owner, decider = alice(), bob()
    workflow = make_workflow(owner)
    first = make_request(owner, workflow=workflow, tool_call_id="call-1")
    assert (
        make_request(owner, workflow=workflow, tool_call_id="call-1", input={"orderId": "4711", "amount": 120}) == first
    )
    decide(first, decider, Verdict.REJECT)
    write_together([actions.end_of_workflow(workflow, state=WorkflowState.COMPLETED)])
    again = make_request(owner, workflow=workflow, tool_call_id="call-1")
    assert (again, again.status) == (first, "rejected")
    assert (ApprovalRequest.objects.count(), AuditEntry.objects.filter(event="request.created").count()) == (1, 1)
    assert waits(workflow) == ("completed", 0, None, False)


def test_the_same_tool_call_with_another_input_is_a_conflict_that_names_the_request():
    owner = alice()
    workflow = make_workflow(owner)
    first = make_request(owner, workflow=workflow, tool_call_id="call-1")
    with pytest.raises(Conflict) as refusal:
        make_request(owner, workflow=workflow, tool_call_id="call-1", input={"amount": 121, "orderId": "4711"})
    assert refusal.value.detail == str(first.pk)
    assert waits(workflow) == ("suspended", 1, 2, True)


def test_kind_attempt_and_scope_tell_requests_of_a_tool_call_apart():
    owner = alice()
    workflow, elsewhere = make_workflow(owner), make_workflow(owner, scope="key:2")
    asked = [
        make_request(owner, workflow=workflow, tool_call_id="call-1"),
        make_request(owner, Kind.RECOVERY, workflow=workflow, tool_call_id="call-1"),
        make_request(owner, workflow=workflow, tool_call_id="call-1", attempt=2),
        make_request(owner, workflow=elsewhere, tool_call_id="call-1"),
        make_request(owner, workflow=workflow),
        make_request(owner, workflow=workflow),
    ]
    assert len({request.pk for request in asked}) == 6
    assert waits(workflow)[1] == 5


def test_everything_that_was_asked_is_stored():
    owner, assignee = alice(), bob()
    options = [{"label": "Blue", "id": "b"}, {"label": "Red"}]
    request = make_request(
        owner,
        Kind.QUESTION,
        message="*Which?*",
        options=options,
        multiple=True,
        allow_text=True,
        field_name="colour",
        suggestions=["Green"],
        context={"shop": 1},
        step_path=["paint", "choose"],
        priority=Priority.HIGH,
        assigned_to=assignee,
    )
    found = stored(request)
    assert (found.options, found.suggestions, found.step_path) == (options, ["Green"], ["paint", "choose"])
    assert (found.multiple, found.allow_text, found.field_name, found.context) == (True, True, "colour", {"shop": 1})
    assert (found.urgency, found.assigned_to, found.requested_by, found.scope) == (1, assignee, owner, "key:1")
    assert (found.input, found.input_digest, found.has_default) == (REFUND, input_digest(REFUND), False)


DEEP: list = []
for _ in range(70):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"title": ""}, ["title"]),
        ({"title": "t" * 201}, ["title"]),
        ({"message": "m" * 20_001, "title": ""}, ["message", "title"]),
        ({"options": [{"label": str(place)} for place in range(101)]}, ["options"]),
        ({"options": [{"id": "no label"}]}, ["options"]),
        ({"options": [{"label": 7}]}, ["options"]),
        ({"suggestions": ["x" * 501]}, ["options"]),
        ({"suggestions": ["x"] * 51}, ["suggestions"]),
        ({"tool_name": "x" * 101, "source_url": "x" * 501}, ["source_url", "tool_name"]),
        ({"tool_call_id": "x" * 201}, ["tool_call_id"]),
        ({"tool_call_id": "\x00"}, ["tool_call_id"]),
        ({"field_name": "x" * 101}, ["field_name"]),
        ({"input": {"n": 2**53}}, ["input"]),
        ({"input": {"n": float("inf")}}, ["input"]),
        ({"input": {"s": "\ud800"}, "context": "\x00"}, ["context", "input"]),
        ({"context": DEEP}, ["context"]),
        ({"input": {"s": "x" * 1_000_000}}, ["input"]),
        ({"default_response": "yes"}, ["default_response"]),
        ({"response_schema": {"type": "nonsense"}}, ["response_schema"]),
        ({"response_schema": {"pattern": "("}}, ["response_schema"]),
        ({"response_schema": {"const": float("nan")}}, ["response_schema"]),
    ],
)
def test_an_ask_out_of_bounds_is_refused_by_field_and_stores_nothing(changes, named):
    owner = alice()
    with pytest.raises(Invalid) as refusal:
        make_request(owner, workflow=(workflow := make_workflow(owner)), **changes)
    assert sorted(refusal.value.errors) == named
    assert (ApprovalRequest.objects.count(), AuditEntry.objects.count()) == (0, 0)
    assert waits(workflow) == ("running", 0, None, False)


def test_a_default_response_that_could_not_be_recorded_is_refused_when_it_is_asked():
    with pytest.raises(Invalid) as refusal:
        make_ask(Kind.QUESTION, default_response=float("nan")).check()
    assert refusal.value.errors == {"default_response": "NaN and Infinity are not JSON"}


def test_an_ask_at_its_bounds_is_accepted():
    Ask(
        kind=Kind.QUESTION,
        title="t" * 200,
        message="m" * 20_000,
        options=[{"label": "l" * 500}] * 100,
        suggestions=["s" * 500] * 50,
        tool_call_id="c" * 200,
        default_response="l" * 500,
    ).check()
