"""No list reads a table from end to end: what the databases mean to do, asked of them with many rows there."""

from __future__ import annotations

import re

import pytest

from approvals.states import Verdict
from tests.approvals.helpers import decide, make_request
from tests.people import alice, bob
from tests.team.lists import lists, plan, scanned
from tests.team.many_requests import fill

ROWS = 20_000
#: Counts stop at a thousand rows, wherever they begin; a word that every request holds is found wherever one looks.
ANYWHERE = {"desk: count of what waits", "desk: count of what ended", "requests: search, many found"}


@pytest.mark.django_db
def test_no_list_reads_a_table_from_end_to_end():
    decider, asker = bob(), alice()
    request = make_request(decider, title="Refund order 4711?")
    decide(request, decider, Verdict.APPROVE)
    fill(ROWS, asker=asker)
    plans = {name: scanned(query) for name, query in lists(decider, asker).items()}
    assert {name: tables for name, tables in plans.items() if tables and name not in ANYWHERE} == {}


@pytest.mark.django_db
def test_a_deep_page_is_looked_up_and_not_walked_to():
    decider, asker = bob(), alice()
    request = make_request(decider, title="Refund order 4711?")
    decide(request, decider, Verdict.APPROVE)
    fill(ROWS, asker=asker)
    bounds = {
        "desk: deep page of what waits": "urgency",
        "desk: deep page of what ended": "ended_at",
        "requests: deep page": "created_at",
    }
    found = lists(decider, asker)
    # `Index Cond: (... (created_at <= ...` and `SEARCH ... USING INDEX request_age (created_at<?)`.
    entered = {
        name: bool(re.search(rf"(?:Index Cond: |USING (?:COVERING )?INDEX \w+ )\(.*{column}\W*[<>]", plan(found[name])))
        for name, column in bounds.items()
    }
    assert entered == dict.fromkeys(bounds, True)
