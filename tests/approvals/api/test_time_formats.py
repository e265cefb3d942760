"""Times have the same format everywhere in the API."""

from __future__ import annotations

import pytest

from tests.support.machine import Machine
from tests.support.people import alice, bob, make_person

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


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "0001-12-31T23:59:59-05:00", "9999-12-31T23:59:59Z"])
def test_a_moment_that_some_time_zone_could_not_show_is_refused(moment):
    auditor = Machine(make_person("ann", "view_auditentry"))
    for body, name in (({"at": moment}, "at"), ({"policy": {"rules": []}, "at": moment}, "at")):
        assert list(auditor.post("/policy/evaluate", body).body["errors"]) == [name]
    refused = Machine(alice()).post("/requests", {"kind": "approval", "title": "x", "deadline": moment})
    assert list(refused.body["errors"]) == ["deadline"]
