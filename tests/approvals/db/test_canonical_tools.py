"""An upgraded desk has one row for each tool: the strictest of the settings that its spellings had, and the latest flood."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from approvals.db.append_only import maintenance
from approvals.models import ApprovalRequest, Flood, Grant, ToolSettings
from approvals.text.canonical_names import fold
from tests.approvals.actions.policy.granting import ask, give, terms
from tests.support.people import alice, bob

migration = import_module("approvals.migrations.0017_canonical_tools")
EDITOR = SimpleNamespace(connection=connection)
PLAIN = {
    "key_fields": [],
    "secret_fields": [],
    "prepared_answers": [],
    "reason_required": False,
    "min_priority": "",
    "control": "",
    "no_grants": False,
    "grant_seconds": None,
    "grant_uses": None,
    "grant_width": None,
}


def spelled(model: type, pk: int, tool: str) -> None:
    """Write a name into the table as an older version did, which folded none."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {model._meta.db_table} SET tool_name = %s WHERE id = %s", [tool, pk])


def joined(*rows: dict) -> dict:
    """Store settings of one tool in several spellings, join them, and return what is left."""
    for number, fields in enumerate(rows):
        row = ToolSettings.objects.create(tool_name=f"tool {number}", **fields)
        spelled(ToolSettings, row.pk, ("Wire", "wire", "WIRE")[number])
    migration.join_settings(apps, EDITOR)
    [left] = ToolSettings.objects.values()
    assert left["tool_name"] == "wire"
    return {name: left[name] for name in PLAIN}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("rows", "strictest"),
    [
        ([{"min_priority": "high"}, {"min_priority": ""}, {"min_priority": "critical"}], {"min_priority": "critical"}),
        ([{"control": "confirm"}, {"control": "four_eyes"}, {"control": ""}], {"control": "four_eyes"}),
        ([{"control": "confirm"}, {"control": ""}], {"control": ""}),
        ([{"control": "confirm"}, {"control": "confirm"}], {"control": "confirm"}),
        ([{"no_grants": True}, {"reason_required": True}], {"no_grants": True, "reason_required": True}),
        ([{"grant_seconds": 60, "grant_uses": 9}, {"grant_uses": 2}], {"grant_seconds": 60, "grant_uses": 2}),
        ([{"grant_width": 2}, {"grant_width": 1}], {"grant_width": 1}),
        # Of a shell, no width is the exact input.
        ([{"grant_width": 2}, {}], {"grant_width": 0}),
        (
            [{"secret_fields": ["a"]}, {"secret_fields": ["b", "a"]}, {"secret_fields": None}],
            {"secret_fields": ["b", "a"]},
        ),
        ([{"key_fields": ["/a"]}, {"key_fields": ["/b"]}], {"key_fields": ["/b", "/a"]}),
        ([{"prepared_answers": ["x"]}, {"prepared_answers": ["y"]}], {"prepared_answers": ["y", "x"]}),
    ],
)
def test_of_settings_in_several_spellings_the_strictest_hold(rows, strictest):
    assert joined(*rows) == PLAIN | strictest


@pytest.mark.django_db
def test_settings_of_other_tools_stay():
    for number, tool in enumerate(("Wire", "refund")):
        row = ToolSettings.objects.create(tool_name=f"tool {number}", grant_uses=number + 1)
        spelled(ToolSettings, row.pk, tool)
    migration.join_settings(apps, EDITOR)
    assert set(ToolSettings.objects.values_list("tool_name", "grant_uses")) == {("wire", 1), ("refund", 2)}


@pytest.mark.django_db
def test_of_floods_in_several_spellings_the_latest_stays():
    for day, tool in ((1, "wire"), (3, "Wire"), (2, "WIRE")):
        at = datetime(2026, 1, day, tzinfo=UTC)
        row = Flood.objects.create(requested_by_id=1, agent="a", tool_name=f"tool {day}", told_at=at)
        spelled(Flood, row.pk, tool)
    migration.join_floods(apps, EDITOR)
    assert list(Flood.objects.values_list("tool_name", "told_at__day")) == [("wire", 3)]


@pytest.mark.django_db
def test_requests_and_grants_get_the_canonical_name_beside_their_own():
    asker, decider = alice(), bob()
    tools = ("Wire", "WIRE", "refund", "")
    for tool in tools[:3]:
        give(decider, asker, terms(), {"to": tool}, tool=tool)
    ask(asker, tool="")
    ApprovalRequest.objects.update(canonical_tool=None)
    # The triggers of an older version do not know the column, those of this one do.
    with maintenance(connection, "a test"):
        migration.name_tools(apps, EDITOR)
    stored = ApprovalRequest.objects.order_by("created_at").values_list("tool_name", "canonical_tool")
    assert list(stored) == [("Wire", "wire"), ("WIRE", "wire"), ("refund", "refund"), ("", "")]
    assert set(Grant.objects.values_list("canonical_tool", flat=True)) == {"wire", "refund"}


@given(st.text(max_size=30))
def test_the_names_of_the_migration_are_those_of_the_product(name):
    assert migration.fold(name) == fold(name)[:100]


def test_the_table_above_names_every_setting_of_a_tool():
    fields = {field.name for field in ToolSettings._meta.concrete_fields}
    assert fields - {"id", "tool_name"} == set(PLAIN)
