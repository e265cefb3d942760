"""Inserts and updates with SQL written once store the same as Django."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import BigAutoField, BooleanField, CharField, Exists, ExpressionWrapper, F, UUIDField, Value
from django.test.utils import CaptureQueriesContext

from approvals.db.prepared import Parameter
from approvals.db.prepared_writes import Insert, Update, write_together
from approvals.models import ApprovalRequest, AuditEntry, Decision, NotificationRule, Workflow
from approvals.states import Kind, Status
from tests.support.desk.requests import FUTURE, decide, make_request
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

MOMENT = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


def columns(row) -> dict:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def entry(**given) -> dict:
    return {"at": MOMENT, "last_seen_at": MOMENT, "event": "tool.denied", "scope": "key:1"} | given


def decided() -> ApprovalRequest:
    """Return a decided request with a value in every kind of column."""
    owner, approver = alice(), bob()
    values = {"deadline_at": FUTURE, "assigned_to": approver, "context": {"b": [1, 1e300, None], "a": "ø"}}
    request = make_request(owner, **values, input={"amount": 1.5, "to": []}, step_path=["x"])
    decide(request, approver, edited_input={"amount": 2}, verdict="edit")
    return request


@pytest.mark.parametrize("model", [Workflow, ApprovalRequest, Decision, AuditEntry])
def test_a_row_is_stored_as_save_stores_it(model):
    """Each row of a decided request is copied by `save` and by `Insert`."""
    decided()
    source = model.objects.latest("pk")
    changed = {
        Workflow: lambda: {"key": str(uuid4())},
        ApprovalRequest: lambda: {"id": uuid4(), "tool_call_id": None},
        Decision: lambda: {"request_id": uuid4()},
        AuditEntry: lambda: {"dedup_key": str(uuid4())},
    }[model]
    copies = [model(**columns(source) | {model._meta.pk.attname: None} | changed()) for _ in range(2)]
    copies[0].save(force_insert=True)
    assert Insert(model, returning=("id",)).save(copies[1])
    assert (copies[1]._state.adding, copies[1]._state.db) == (False, "default")
    assert columns(model.objects.get(pk=copies[1].pk)) == columns(copies[1])
    different = {model._meta.pk.attname, *changed()}
    found = [{**columns(model.objects.get(pk=copy.pk)), **dict.fromkeys(different)} for copy in copies]
    assert found[0] == found[1] == {**columns(source), **dict.fromkeys(different)}


def test_columns_that_are_not_given_have_their_defaults():
    Insert(AuditEntry).row(**entry())
    AuditEntry.objects.create(**entry())
    found = [columns(row) | {"id": None} for row in AuditEntry.objects.order_by("pk")]
    assert found[0] == found[1]


def test_a_column_that_does_not_exist_is_refused():
    with pytest.raises(AssertionError, match="evnt"):
        Insert(AuditEntry).row(evnt="tool.denied")


def test_a_row_that_is_there_is_an_error_or_left_out():
    once = Insert(AuditEntry, ignore_conflicts=True, returning=("id",))
    first = once.row(**entry(dedup_key="a"))
    assert first == (AuditEntry.objects.get().pk,)
    silent = Insert(AuditEntry, ignore_conflicts=True)
    assert [silent.row(**entry(dedup_key=key)) for key in ("a", "b")] == [None, ()]
    assert once.row(**entry(dedup_key="a")) is None
    assert AuditEntry.objects.count() == 2
    assert silent.save(AuditEntry(**entry(dedup_key="b"))) is False
    with pytest.raises(IntegrityError):
        Insert(AuditEntry).row(**entry(dedup_key="a"))


def test_several_rows_are_one_call():
    with CaptureQueriesContext(connection) as found:
        Insert(AuditEntry).rows([entry(dedup_key=str(number)) for number in range(3)])
    assert len(found) == 1
    assert [row.dedup_key for row in AuditEntry.objects.order_by("pk")] == ["0", "1", "2"]


def test_several_rows_answer_a_question_with_a_value_of_its_own():
    named = NotificationRule.objects.filter(person__username=Value("bob"))
    insert = Insert(AuditEntry, returning=("event", ExpressionWrapper(Exists(named), BooleanField())))
    NotificationRule.objects.create(person=bob())
    added = insert.rows([entry(), entry(event="tool.result")])
    assert added == [("tool.denied", True), ("tool.result", True)]


def test_an_insert_answers_a_question_beside_it():
    heard = ExpressionWrapper(Exists(NotificationRule.objects.filter(active=True)), BooleanField())
    insert = Insert(AuditEntry, returning=("at", heard))
    assert insert.row(**entry()) == (MOMENT, False)
    NotificationRule.objects.create(person=bob())
    assert insert.row(**entry()) == (MOMENT, True)


def test_an_update_changes_columns_under_its_conditions():
    request = make_request(alice())
    end = Update(
        lambda: ApprovalRequest.objects.filter(pk=Parameter("pk", UUIDField()), status=Status.PENDING),
        "status",
        "changed_at",
        "context",
        attempt=F("attempt") + 1,
    )
    given = {"status": Status.APPROVED, "changed_at": MOMENT, "context": {"b": 1, "a": [None]}}
    assert [end.run(pk=request.pk, **given), end.run(pk=request.pk, **given), end.run(pk=uuid4(), **given)] == [1, 0, 0]
    found = ApprovalRequest.objects.get(pk=request.pk)
    assert (found.status, found.changed_at, list(found.context), found.attempt) == ("approved", MOMENT, ["b", "a"], 2)


def test_an_update_returns_what_it_has_written():
    workflow = make_request(alice(), Kind.QUESTION).workflow
    update = Update(
        lambda: Workflow.objects.filter(pk=Parameter("pk", BigAutoField())),
        "suspended_at",
        returning=("open_count", "suspended_at", "agent"),
        open_count=F("open_count") + 1,
    )
    assert update.row(pk=workflow.pk, suspended_at=None) == (2, None, "support")
    assert update.row(pk=workflow.pk, suspended_at=MOMENT) == (3, MOMENT, "support")
    assert update.row(pk=0, suspended_at=None) is None


def test_the_sql_of_an_update_is_written_once():
    built = []

    def build():
        built.append(1)
        return Workflow.objects.filter(pk=Parameter("pk", BigAutoField()))

    update = Update(build, "title")
    assert [update.run(pk=0, title="x") for _ in range(3)] == [0, 0, 0]
    assert built == [1]


def written_together(owner, *, key: str) -> tuple[list[tuple | None], Workflow, ApprovalRequest]:
    """Write a workflow with a request and an entry; change an existing row and a missing one."""
    workflow = Workflow(scope="", key=key, source="chat", owner=owner)
    request = ApprovalRequest(scope="", kind=Kind.APPROVAL, title="Pay", input={}, input_digest="0", requested_by=owner)
    rename = Update(lambda: Workflow.objects.filter(key=Parameter("old", CharField())), "title")
    writes = [
        Insert(Workflow, returning=("id",)).of(workflow),
        Insert(ApprovalRequest).of(request, keys={"workflow_id": 0}),
        rename.of(old="first", title="Found"),
        rename.of(old="nothing", title="Lost"),
        Insert(AuditEntry, returning=("event", Value(None, output_field=BooleanField()))).of_row(**entry()),
    ]
    return write_together(writes), workflow, request


def test_several_rows_are_written_together_and_each_is_told_of():
    owner = alice()
    Workflow.objects.create(scope="", key="first", source="chat", owner=owner)
    with CaptureQueriesContext(connection) as statements:
        rows, workflow, request = written_together(owner, key="second")
    stored = ApprovalRequest.objects.get(pk=request.pk)
    assert rows == [(workflow.pk,), (), (), None, ("tool.denied", None)]
    assert (stored.workflow_id, workflow.key, request._state.adding) == (workflow.pk, "second", False)
    assert list(Workflow.objects.order_by("key").values_list("key", "title")) == [("first", "Found"), ("second", "")]
    assert AuditEntry.objects.filter(scope="key:1").count() == 1
    assert len(statements) == (1 if connection.vendor == "postgresql" else 5)


def test_nothing_is_written_of_rows_of_which_one_is_refused():
    owner = alice()
    Workflow.objects.create(scope="", key="first", source="chat", owner=owner)
    with pytest.raises(IntegrityError), transaction.atomic():
        written_together(owner, key="first")
    assert (ApprovalRequest.objects.count(), AuditEntry.objects.filter(scope="key:1").count()) == (0, 0)
    assert list(Workflow.objects.values_list("key", "title")) == [("first", "")]
