"""A prepared query returns the same as its queryset, and is compiled once."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.models import (
    BigAutoField,
    BooleanField,
    CharField,
    DateTimeField,
    FloatField,
    IntegerField,
    PositiveBigIntegerField,
    SmallIntegerField,
    TextField,
    UUIDField,
)
from django.test.utils import CaptureQueriesContext

from approvals.db.fields import ExactJSONField
from approvals.db.prepared import Parameter, Prepared, Statement, holes_for
from approvals.models import ApprovalRequest, Decision, Workflow
from approvals.queries.requests import WHOLE_REQUEST, whole_requests
from approvals.states import Kind, Verdict
from tests.support.desk.requests import FUTURE, decide, make_request
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def columns(row) -> dict:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def everything(request: ApprovalRequest) -> list[dict | None]:
    related = (request.workflow, getattr(request, "decision", None), request.requested_by, request.assigned_to)
    return [columns(request), *(one and columns(one) for one in related)]


def test_rows_equal_those_of_the_queryset():
    owner, approver = alice(), bob()
    wanted = {"deadline_at": FUTURE, "assigned_to": approver, "context": {"a": [1, 2.5, None]}, "step_path": ["x"]}
    asked = [make_request(owner), make_request(owner, **wanted), make_request(owner, Kind.QUESTION)]
    decide(asked[0], approver, Verdict.EDIT, edited_input={"amount": 1e300}, comment="ø")
    with CaptureQueriesContext(connection) as found:
        prepared = [everything(WHOLE_REQUEST.first(pk=one.pk)) for one in asked]
    assert len(found) == 3
    assert prepared == [everything(whole_requests().get(pk=one.pk)) for one in asked]


def test_a_row_that_is_missing_is_none():
    assert WHOLE_REQUEST.first(pk=uuid4()) is None


def test_a_missing_decision_is_missing_on_the_row_too():
    seen = WHOLE_REQUEST.first(pk=make_request(alice()).pk)
    with pytest.raises(Decision.DoesNotExist):
        _ = seen.decision


def test_each_run_has_its_own_values():
    owner = alice()
    made = [make_request(owner, title=title) for title in ("One", "Two")]
    assert [WHOLE_REQUEST.first(pk=one.pk).title for one in made] == ["One", "Two"]


def test_rows_of_values_work_as_well():
    titles = Prepared(
        lambda: ApprovalRequest.objects.filter(scope=Parameter("scope", CharField())).values_list("title", "kind")
    )
    make_request(alice(), title="One")
    assert (titles.all(scope="key:1"), titles.all(scope="key:2")) == ([("One", "approval")], [])


def test_the_query_is_built_once():
    built = []

    def build():
        built.append(1)
        return ApprovalRequest.objects.filter(pk=Parameter("pk", UUIDField()))

    query = Prepared(build)
    assert [query.first(pk=uuid4()) for _ in range(3)] == [None] * 3
    assert built == [1]


@pytest.mark.django_db(transaction=True)
def test_a_query_that_locks_needs_a_transaction():
    workflow = make_request(alice()).workflow
    query = Prepared(lambda: Workflow.objects.select_for_update().filter(key=Parameter("key", CharField())))
    with transaction.atomic():
        assert query.first(key=workflow.key) == workflow
    with pytest.raises(AssertionError, match="a lock needs a transaction"):
        query.first(key=workflow.key)


@pytest.mark.parametrize("on_postgresql", [False, True])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        (BigAutoField(), 7),
        (BigAutoField(), "7"),
        (BooleanField(), True),
        (CharField(), "kéy"),
        (DateTimeField(), datetime(2026, 11, 29, 12, tzinfo=UTC)),
        (ExactJSONField(), {"b": [1.0, None, "ø"]}),
        (FloatField(), 1),
        (IntegerField(), 70_000),
        (IntegerField(), "7"),
        (PositiveBigIntegerField(), 7),
        (SmallIntegerField(), True),
        (TextField(), 7),
        (UUIDField(), UUID(int=7)),
        (UUIDField(), str(UUID(int=7))),
        (Workflow._meta.get_field("owner"), 7),
    ],
)
def test_a_value_is_stored_as_its_field_stores_it(field, value, on_postgresql):
    # Not connected: only its kind counts.
    database = DatabaseWrapper({"ENGINE": "django.db.backends.postgresql"}) if on_postgresql else connection
    statement = Statement("", holes_for([Parameter("value", field), "constant"], database), {}, None)
    stored = field.get_db_prep_value(value, database)
    values = statement.values({"value": value}, database)
    assert [(each, type(each)) for each in values] == [(stored, type(stored)), ("constant", str)]
    assert statement.values({"value": None}, database) == [None, "constant"]
