"""A replay of the live policy gives its live results for ten thousand random requests."""

from __future__ import annotations

import pytest

from approvals.models import ApprovalRequest
from tests.support.desk.replaying import differences, store_at_random
from tests.support.services import ROUNDS


@pytest.mark.django_db
def test_a_replay_equals_what_the_live_policy_did():
    number = 10_000 * ROUNDS
    store_at_random(number, seed=ROUNDS)
    assert ApprovalRequest.objects.count() == number
    assert differences() == []
    rules = set(ApprovalRequest.objects.values_list("rule", flat=True))
    assert rules == {"Wire", "Night", "Low", "Team", "Context", "Odd", None}
