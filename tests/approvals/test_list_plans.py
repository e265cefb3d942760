"""No list reads a table from end to end: what the databases mean to do, asked of them with many rows there."""

from __future__ import annotations

import pytest

from approvals.states import Verdict
from tests.approvals.helpers import decide, make_request
from tests.people import alice, bob
from tests.team.lists import lists, scanned
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
