"""Times have the same format everywhere in the API."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def test_the_time_of_a_decision_has_the_same_format_in_the_request_and_in_later_refusals():
    asking, deciding = Machine(alice()), Machine(bob())
    asked = asking.ask()
    assert deciding.decide(asked, "approve").status == 200
    refused = deciding.decide(asked, "reject")
    assert refused.refusal == (409, "already_decided")
    found = deciding.get(f"/requests/{asked['id']}").body["decision"]["decided_at"]
    assert refused.body["decision"]["decided_at"] == found
    assert found.endswith("Z")
