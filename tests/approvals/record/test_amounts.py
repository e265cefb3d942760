"""The amount of an audit entry: which value of the input it is, at every event, and how it is checked and exported."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.contrib.auth.models import User

from approvals import actions
from approvals.actions.assigning import claim
from approvals.models import AuditEntry, ToolSettings
from approvals.record import audit, integrity
from approvals.record.amounts import amount_at, amount_pointer
from approvals.states import Door, Verdict
from tests.support.desk.requests import cancel, decide, make_request, stored
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def amounts() -> list[tuple[str, float | None]]:
    return list(AuditEntry.objects.order_by("pk").values_list("event", "amount"))


@pytest.mark.parametrize(
    ("given", "amount"),
    [
        ({"amount": 120}, 120.0),
        ({"amount": -0.5}, -0.5),
        ({"amount": "120.00"}, 120.0),
        ({"amount": "1,000"}, None),
        ({"amount": "EUR 5"}, None),
        ({"amount": "1" * 16}, None),
        ({"amount": True}, None),
        ({"amount": [5]}, None),
        ({"amount": float("inf")}, None),
        ({"amount": 10**400}, None),
        ({"total": 5}, None),
        (["amount"], None),
    ],
)
def test_without_key_fields_the_amount_is_the_member_of_that_name(given, amount):
    assert amount_at(given, None) == amount


@pytest.mark.parametrize(
    ("key_fields", "pointer"),
    [
        (["/orderId", "/order/total", "/amount"], "/order/total"),
        (["/amount", "/order/total"], None),
        (["/order/lines/1/price"], "/order/lines/1/price"),
        (["/orderId", "/absent", "/order"], None),
        (["/big", "/order/total"], "/order/total"),
        (["", f"/{'x' * 200}", "/order/total"], "/order/total"),
    ],
)
def test_the_first_key_field_with_a_number_is_the_amount(key_fields, pointer):
    order = {"total": 99.5, "lines": [{"price": 1}, {"price": 2}]}
    given = {"amount": 120, "orderId": "4711", "big": float("inf"), "order": order, "x" * 200: 5}
    assert amount_pointer(given, key_fields) == pointer


@pytest.mark.parametrize(
    ("given", "key_fields", "amount"),
    [
        ({"amount": "50000", "fee": 1}, ["/amount", "/fee"], 50_000),
        ({"amount": "50,000", "fee": 1}, ["/amount", "/fee"], None),
        ({"amount": ["50000"], "fee": 1}, ["/amount", "/fee"], None),
        ({"amount": None, "fee": 1}, ["/amount", "/fee"], None),
        ({"total_cents": "50000", "amount": 1}, ["/total_cents"], 50_000),
        ({"totalPrice": "-50000", "amount": 1}, ["/totalPrice"], -50_000),
        ({"order": "4711", "amount": 120}, ["/order", "/amount"], 120),
        ({"summary": "12", "fee": 1}, ["/summary", "/fee"], 1),
        ({"fee": 1}, ["/amount", "/fee"], 1),
    ],
)
def test_an_amount_that_comes_as_text_is_not_passed_over_for_a_smaller_number(given, key_fields, amount):
    assert amount_at(given, amount_pointer(given, key_fields)) == amount


@pytest.fixture
def asker() -> User:
    return alice()


@pytest.fixture
def decider() -> User:
    return bob()


def test_every_event_has_the_amount_of_the_input_that_it_is_about(asker, decider):
    ToolSettings.objects.create(tool_name="pay", key_fields=["/orderId", "/order/total"])
    request = make_request(
        asker, tool_name="pay", tool_call_id="call-1", input={"amount": 1, "orderId": "7", "order": {"total": 99.5}}
    )
    # Later settings change nothing about an existing request.
    ToolSettings.objects.update(key_fields=["/amount"])
    claim(request.pk, by=decider, via=Door.DASHBOARD)
    decide(request, decider, Verdict.EDIT, edited_input={"amount": 1, "orderId": "7", "order": {"total": 50}})
    request = stored(request)
    said = actions.ReportedResult(input_digest=request.decision.approved_digest, output=1)
    actions.report_result(request.pk, said, scope=request.scope, by=request.requested_by, via=Door.REST)
    assert amounts() == [
        ("request.created", 99.5),
        ("request.claimed", 99.5),
        ("request.decided", 50.0),
        ("tool.result", 50.0),
    ]
    assert [integrity.altered_columns(entry) for entry in AuditEntry.objects.all()] == [[]] * 4


def test_a_changed_input_without_the_amount_has_none(asker, decider):
    decide(make_request(asker), decider, Verdict.EDIT, edited_input={"orderId": "4711"})
    cancel(make_request(asker, input={"amount": "3.50"}), decider)
    assert [amount for _event, amount in amounts()] == [120.0, None, 3.5, 3.5]
    assert "amount" not in json.loads(AuditEntry.objects.order_by("pk")[1].body)


def test_exports_have_the_amount_as_a_number(asker):
    for amount in (120, -0.25, 1e300, "x"):
        make_request(asker, input={"amount": amount})
    entries = AuditEntry.objects.order_by("pk")
    assert [json.loads(audit.jsonl_line(one))["amount"] for one in entries] == [120, -0.25, 1e300, None]
    cells = [dict(zip(audit.COLUMNS, audit.csv_cells(one), strict=True))["amount"] for one in entries]
    assert cells == ["120", "-0.25", "1e+300", ""]
    assert next(csv.reader(io.StringIO(",".join(cells)))) == cells
