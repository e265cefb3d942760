"""No list scans a table: query plans of both databases with many rows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db.models import QuerySet

from approvals.states import Verdict
from tests.support.desk.requests import decide, make_request
from tests.support.load.lists import lists, plan, scanned
from tests.support.load.many_requests import fill
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


def test_few_amounts_are_found_by_their_index_and_many_on_the_way_along_the_list(found):
    plans = {
        name: bool(re.search(r"\baudit_amount\b", plan(query))) for name, query in found.items() if "amounts" in name
    }
    assert plans == {name: "nearly all" not in name for name in plans}
    assert len(plans) == 8
