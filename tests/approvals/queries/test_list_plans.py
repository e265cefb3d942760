"""No list scans a table: query plans of both databases with many rows."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import queries
from approvals.access.standing import standing_of
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest, ApproverScope, ScopeSet, ScopeSetMember, Workflow
from approvals.pages.lists.workflows_consumer import _changed
from approvals.queries import search as searching
from approvals.queries.attention.people import on_pages
from approvals.queries.insights.figures import decisions_for
from approvals.queries.lists.ended import CHUNK, EndedCursor, next_requests
from approvals.queries.workflow_list import searched
from approvals.states import Status, Verdict
from benchmarks.load.lists import lists, plan, scanned
from benchmarks.load.many_requests import fill
from tests.approvals.actions.policy.granting import give, terms
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request
from tests.support.desk.scopes import again
from tests.support.people import alice, bob

ROWS = 20_000
#: Counts stop at a thousand rows, wherever they begin; a word that every request holds is found wherever one looks.
ANYWHERE = {"desk: count of what waits", "desk: count of what ended", "requests: search, many found"}


@pytest.fixture
def found(db) -> dict[str, QuerySet[Any]]:
    """Return every list, with many requests."""
    decider, asker = bob(), alice()
    request = make_request(decider, title="Refund order 4711?")
    decide(request, decider, Verdict.APPROVE)
    give(decider, asker, terms())
    fill(ROWS, asker=asker)
    return lists(decider, asker)


def test_no_list_scans_a_table(found):
    plans = {name: scanned(query) for name, query in found.items()}
    assert {name: tables for name, tables in plans.items() if tables and name not in ANYWHERE} == {}


def test_deep_page_is_found_by_the_index(found):
    bounds = {
        "desk: deep page of what waits": "urgency",
        "desk: deep page of what ended": "ended_at",
        "requests: deep page": "created_at",
    }
    # `Index Cond: (... (created_at <= ...` and `SEARCH ... USING INDEX request_newest (created_at<?)`.
    entered = {
        name: bool(re.search(rf"(?:Index Cond: |USING (?:COVERING )?INDEX \w+ )\(.*{column}\W*[<>]", plan(found[name])))
        for name, column in bounds.items()
    }
    assert entered == dict.fromkeys(bounds, True)


def test_filter_without_matches_does_not_scan_all_rows(found):
    plans = {name: plan(query) for name, query in found.items() if name.startswith("requests:") and "none" in name}
    assert len(plans) == 4
    assert [name for name, said in plans.items() if re.search(r"\brequest_newest\b", said)] == []


def test_a_search_for_few_amounts_looks_them_up(found):
    names = ("requests: by value, few amounts", "requests: by value, no amounts", "requests: by value, of no tool")
    assert [name for name in names if re.search(r"\brequest_newest\b", plan(found[name]))] == []
    assert [len(found[name]) for name in (*names, "requests: by value, nearly all amounts")] == [ROWS // 1000, 0, 0, 51]


def test_a_search_of_one_workflow_reads_its_requests_only(found, django_assert_num_queries):
    viewer = standing_of(User.objects.get(username="bob"))
    one = Workflow.objects.order_by("pk")[ROWS // 2]
    with django_assert_num_queries(0):
        among = queries.workflows_for(viewer).filter(pk=one.pk)
        few = searched(viewer, among, "refund", latest=False, among={one.pk})
    # The plan neither reads a table to its end nor all hits of the word.
    assert (scanned(few), re.findall(r"approvals_search VIRTUAL|Index Scan on approvals_search\b", plan(few))) == (
        set(),
        [],
    )
    assert re.search(r"request_latest_workflow\W", plan(few))


def test_a_push_of_a_searched_page_looks_into_no_index_of_words(found):
    decider = User.objects.get(username="bob")
    one = ApprovalRequest.objects.filter(status=Status.PENDING).latest("created_at")
    with CaptureQueriesContext(connection) as statements:
        html = _changed(standing_of(decider), BatchCache(), "refund", one.workflow_id)
    assert f'id="workflow-{one.workflow_id}"' in html
    assert [sql["sql"] for sql in statements if re.search(r" MATCH |@@", sql["sql"])] == []


def test_a_search_among_what_waits_looks_into_the_index_of_words_once(found, monkeypatch):
    monkeypatch.setattr(searching, "FEW", 10)
    client = browser(User.objects.get(username="bob"))
    with CaptureQueriesContext(connection) as statements:
        page = client.get("/?q=refund")
    assert "Refund order" in page.text
    # Of many hits it reads those that wait, in their order, until the page is full.
    assert len([sql["sql"] for sql in statements if re.search(r" MATCH |@@", sql["sql"])]) == 1


def test_decisions_of_people_on_pages_are_read_by_an_index_of_their_own(found):
    viewer = standing_of(User.objects.get(username="bob"))
    latest = decisions_for(viewer, timezone.now() - timedelta(days=30)).filter(on_pages())
    assert "decision_on_pages" in plan(latest.order_by("-decided_at", "-id")[:50])


def test_a_deep_page_of_completed_workflows_in_scope_reads_its_requests_only(found):
    person = User.objects.get(username="bob")
    scope = ApproverScope.objects.create(name="All")
    scope.people.add(person)
    scope_set = ScopeSet.objects.create(digest="sha256:0")
    ScopeSetMember.objects.create(scope_set=scope_set, scope=scope)
    ApprovalRequest.objects.update(scope_set=scope_set, scoped_upto=scope.pk)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    middle = ApprovalRequest.objects.exclude(status=Status.PENDING).order_by("-changed_at")[ROWS // 4]
    query = next_requests(standing_of(again(person)), EndedCursor(middle.changed_at, middle.pk))
    said = plan(query)
    assert (len(query), scanned(query)) == (CHUNK, set())
    assert re.search(r"request_latest_scope_set\W", said)
    # Whether a later one follows is looked for in its workflow.
    assert re.search(r"request_latest_workflow\W", said)


def test_few_amounts_are_found_by_their_index_and_many_on_the_way_along_the_list(found):
    plans = {
        name: bool(re.search(r"\baudit_amount\b", plan(query))) for name, query in found.items() if "amounts" in name
    }
    assert plans == {name: "nearly all" not in name for name in plans}
    assert len(plans) == 11
