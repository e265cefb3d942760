"""Shared by the tests of votes on pages: voters, and a payment that two teams have to approve."""

from __future__ import annotations

import pytest

from tests.support.desk.requests import REFUND
from tests.support.desk.votes import both, group, make_team, make_voted
from tests.support.people import alice, bob, make_person


@pytest.fixture
def people():
    return [bob(), *(make_person(name, "decide_approvalrequest", "view_approvalrequest") for name in ("dave", "erin"))]


@pytest.fixture
def payment(people):
    """A payment that finance (Bob) and security (Dave) have to approve."""
    finance, security = make_team("finance", people[0]), make_team("security", people[1])
    return make_voted(alice(), both(group(finance), group(security)), input=REFUND, title="Payment")
