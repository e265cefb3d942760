"""A moment reads the same wherever a program meets it."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def test_when_a_request_was_decided_reads_the_same_in_the_request_and_in_the_refusal_of_another_decision():
    asking, deciding = Machine(alice()), Machine(bob())
    asked = asking.ask()
    assert deciding.decide(asked, "approve").status == 200
    refused = deciding.decide(asked, "reject")
    assert refused.refusal == (409, "already_decided")
    found = deciding.get(f"/requests/{asked['id']}").body["decision"]["decided_at"]
    assert refused.body["decision"]["decided_at"] == found
    assert found.endswith("Z")
