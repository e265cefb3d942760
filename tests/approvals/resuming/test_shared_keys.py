"""An idempotency key belongs to the API key that sent it, also where two API keys act for one user."""

from __future__ import annotations

import pytest

from tests.approvals.resuming.test_rest import decided
from tests.support.machine import Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def test_two_keys_of_one_user_with_one_idempotency_key_share_no_resume():
    agent = Machine(alice())
    path, key = decided(agent, Machine(bob())), {"idempotency_key": "try-1"}
    taken = agent.post(f"{path}/resume", {}, **key)
    other = Machine(agent.key.user)
    assert other.post(f"{path}/resume", {}, **key).refusal == (409, "resume_taken")
    assert agent.post(f"{path}/resume", {}, **key).body == taken.body
