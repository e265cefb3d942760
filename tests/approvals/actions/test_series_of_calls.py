"""The ids of the next request in a series of equal calls."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals.actions.repeating import next_ids
from approvals.asking.origins import EqualCalls
from approvals.models import ApprovalRequest
from approvals.states import Door

CALLS = EqualCalls(key="k" * 40, taker="t", taken_by="agent", by=User(), via=Door.REST, named=True)


@pytest.mark.parametrize(
    ("known", "ids"),
    [
        (None, (CALLS.key, "c1")),
        (CALLS.key, (f"{CALLS.key}00000001", "c1#2")),
        (f"{CALLS.key}00000001", (f"{CALLS.key}00000002", "c1#3")),
        ("x" * 80, (f"{CALLS.key}00000001", "c1#2")),
    ],
)
def test_the_number_is_that_of_the_series_and_not_of_another_clients_key(known, ids):
    latest = None if known is None else ApprovalRequest(idempotency_key=known)
    assert next_ids(CALLS, latest, "c1") == ids
