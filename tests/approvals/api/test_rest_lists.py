"""Lists over REST: filters, pages by cursor, invalid parameters, and the number of queries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from approvals.db.canonical_json import utc
from approvals.models import ApprovalRequest
from approvals.queries import RequestCursor
from benchmarks.load.budgets import over
from tests.support.machine import APPROVAL, QUESTION, Machine
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

FEW, MANY = 2, 40


def listed(machine: Machine, **filters: object) -> list[str]:
    """The titles that a list shows."""
    reply = machine.get(f"/requests?{urlencode(filters)}")
    assert reply.status == 200, reply
    return [one["title"] for one in reply.body["items"]]


@pytest.fixture
def asked():
    """Three requests of different kinds, asked an hour apart; the last one is decided."""
    agent = Machine(bob())
    changes = [
        (APPROVAL, {"title": "a", "workflow_id": "w1", "thread_id": "t1", "priority": "high"}),
        (QUESTION, {"title": "b", "workflow_id": "w2", "message": "about 50%_off"}),
        (APPROVAL, {"title": "c", "workflow_id": "w1", "thread_id": "t1", "tool_name": "other"}),
    ]
    made = [agent.ask(body, **more) for body, more in changes]
    for hours, one in zip((3, 2, 1), made, strict=True):
        stored = ApprovalRequest.objects.get(pk=one["id"])
        earlier = stored.created_at - timedelta(hours=hours)
        ApprovalRequest.objects.filter(pk=stored.pk).update(created_at=earlier)
    Machine(make_person("dora", "decide_approvalrequest")).decide(made[2], "reject")
    return agent


SELECTED = [
    ({}, "cba"),
    ({"status": "pending"}, "ba"),
    ({"status": "rejected"}, "c"),
    ({"kind": "question"}, "b"),
    ({"tool": "refund"}, "a"),
    ({"tool": "ref"}, ""),
    ({"workflow": "w1"}, "ca"),
    ({"thread": "t1"}, "ca"),
    ({"priority": "high"}, "a"),
    ({"text": "50%_OFF"}, "b"),
    ({"text": "%"}, ""),
    ({"text": "off abo"}, "b"),
    ({"text": "of about"}, ""),
    ({"text": "nowhere"}, ""),
    ({"workflow": "w1", "status": "pending"}, "a"),
    ({"limit": 2}, "cb"),
]


def test_a_list_holds_exactly_what_its_filters_select(asked):
    assert [(filters, "".join(listed(asked, **filters))) for filters, _ in SELECTED] == SELECTED


def test_a_list_by_age_includes_both_bounds(asked):
    moments = {one.title: one.created_at for one in ApprovalRequest.objects.all()}
    assert listed(asked, created_from=utc(moments["b"])) == ["c", "b"]
    assert listed(asked, created_until=utc(moments["b"])) == ["b", "a"]
    assert listed(asked, created_from=utc(moments["b"]), created_until=utc(moments["b"])) == ["b"]


INVALID = [
    "status=open", "kind=x", "priority=urgent", "limit=0", "limit=201", "limit=x", "limit=" + "9" * 5000,
    "limit=1&limit=2", "nonsense=1", "status=", "cursor=", "cursor=x", "cursor=2026-01-01T00:00:00Z,1",
    "created_from=yesterday", "created_from=2026-01-01", "created_until=2026-01-01T00:00:00",
    "created_until=9999-12-31T23:59:59-23:59", "text=%00", "text=" + "x" * 201, "workflow=a/b", "tool=" + "x" * 101,
]  # fmt: skip


def test_an_invalid_parameter_is_refused_and_not_ignored():
    machine = Machine(bob())
    for query in INVALID:
        reply = machine.get(f"/requests?{query}")
        assert (reply.refusal, list(reply.body["errors"])) == ((422, "invalid"), [query.partition("=")[0]]), query


def test_pages_by_cursor_show_each_request_once_while_new_ones_arrive():
    machine = Machine(bob())
    made = [machine.ask(title=str(number)) for number in range(7)]
    # Two of the same moment: their ids decide.
    moment = ApprovalRequest.objects.get(pk=made[3]["id"]).created_at
    ApprovalRequest.objects.filter(pk=made[2]["id"]).update(created_at=moment)
    seen, cursor = [], ""
    while cursor is not None:
        page = machine.get("/requests?" + urlencode({"limit": 3} | ({"cursor": cursor} if cursor else {}))).body
        assert len(page["items"]) <= 3
        seen += [one["id"] for one in page["items"]]
        cursor = page["next"]
        machine.ask(title="new")
    assert sorted(seen) == sorted(one["id"] for one in made)


@pytest.mark.parametrize("rows", [FEW, MANY])
def test_a_list_and_a_workflow_cost_the_same_number_of_queries_for_any_size(rows):
    machine = Machine(alice())
    decider = Machine(bob())
    for number in range(rows):
        one = machine.ask(workflow_id="run-1", assigned_to="bob")
        if number % 2:
            decider.decide(one, "approve")
    machine.get("/requests")  # notes the key's use, once a minute
    budget, costs = {"/requests?limit=200": 2, "/workflows/run-1": 3}, {}
    for path in budget:
        with CaptureQueriesContext(connection) as queries:
            assert machine.get(path).status == 200
        costs[path] = len(queries)
    assert over(budget, costs) == {}


@settings(max_examples=200)
@given(st.datetimes(min_value=datetime(1000, 1, 1)), st.uuids())  # noqa: DTZ001 - gets its zone below
def test_every_cursor_is_parsed_back_from_its_text(moment, pk):
    cursor = RequestCursor(moment.replace(tzinfo=UTC), pk)
    assert RequestCursor.parse(str(cursor)) == cursor


@settings(max_examples=300)
@given(st.text(max_size=80) | st.from_regex(r"[0-9T:.,Z-]{0,70}", fullmatch=True))
def test_no_text_breaks_the_parser_of_cursors(text):
    found = RequestCursor.parse(text)
    assert found is None or isinstance(found.pk, UUID)


class AnyQuery(TestCase):
    """Any query string gives a list, or a refusal in our words."""

    @settings(max_examples=80, deadline=None)
    @given(
        st.dictionaries(
            st.sampled_from(["status", "kind", "limit", "cursor", "text", "created_from", "workflow", "x"]),
            st.text(max_size=20) | st.sampled_from(["pending", "approval", "5", "2026-01-01T00:00:00Z"]),
            max_size=4,
        )
    )
    def test_any_query_is_answered(self, query):
        reply = Machine(bob()).get("/requests?" + urlencode(query, errors="surrogatepass"))
        assert reply.status == 200 or reply.refusal == (422, "invalid")
