"""The inbox, its pushes and bulk decisions take a constant number of queries."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals import queries
from approvals.access.standing import standing_of
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest
from approvals.pages import bulk, bulk_orders
from approvals.pages.lists.inbox_consumer import render_push
from approvals.queries import request_list
from approvals.queries.filters import Filters
from approvals.states import Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request, make_workflow
from tests.support.people import bob, make_person

pytestmark = pytest.mark.django_db

FEW, MANY = 10, 45
#: The session, the user, their preferences, and their permissions, own and through groups.
SIGNED_IN = 5


def cost(work) -> int:
    with CaptureQueriesContext(connection) as found:
        work()
    return len(found.captured_queries)


@pytest.fixture(params=[FEW, MANY])
def desk(request):
    """Create waiting and decided requests of different people and workflows."""
    for number in range(2 * request.param):
        owner = make_person(f"person-{number}", "decide_approvalrequest")
        made = make_request(
            owner, workflow=make_workflow(owner, title=f"Run {number}"), tool_name="t", assigned_to=owner
        )
        if number % 2:
            decide(made, owner, Verdict.REJECT)
    return bob()


@pytest.mark.parametrize(
    ("query", "queries"),
    [
        ("", 10),
        ("status=any&group=workflow", 7),
        ("q=may", 13),
        ("person=person-0", 13),
        ("by=person-1", 7),
        ("kind=x", 1),
    ],
)
def test_inbox_takes_constant_queries(desk, query, queries):
    client = browser(desk)
    assert cost(lambda: client.get(f"/requests/?{query}")) <= SIGNED_IN + queries


def test_inbox_of_people_who_see_only_their_own_takes_more_but_constant_queries(desk):
    client = browser(User.objects.get(username="person-0"))
    client.get("/requests/")
    person = User.objects.get(username="person-0")
    person.user_permissions.clear()
    assert cost(lambda: client.get("/requests/")) <= SIGNED_IN + 16


def test_inbox_push_takes_constant_queries(desk):
    missed = list(request_list.listed(queries.requests_for(standing_of(desk)), whole=True)[:30])
    viewer = standing_of(desk)
    few = cost(lambda: render_push(viewer, BatchCache(), Filters(), missed[:1]))
    assert few == cost(lambda: render_push(viewer, BatchCache(), Filters(), missed)) <= 7


def test_bulk_preview_takes_one_query(desk):
    made = ApprovalRequest.objects.all()
    order = bulk_orders.BulkDecision({one.pk: one.input_digest for one in made}, Verdict.APPROVE, "")
    viewer = standing_of(desk)
    assert cost(lambda: bulk.plan(viewer, order)) <= 1
