"""Seeded checks for tests, planted the way the sweep plants them."""

from __future__ import annotations

from django.contrib.auth.models import User

from approvals.actions import attention
from approvals.actions.attention import seeding
from approvals.models import CheckSettings, SeededCheck
from approvals.models.attention import FEWEST
from approvals.states import Door, Verdict
from tests.support.desk.requests import decide, make_request
from tests.support.people import make_person

CASE = {
    "title": "Refund order 9999?",
    "tool_name": "refund",
    "agent": "support",
    "message": "Please be quick.",
    "input": {"amount": 99_999},
    "expected": Verdict.REJECT,
    "explanation": "No order costs that much.",
}


def switch_on(every: int = FEWEST, **changes: object) -> User:
    """Switch checks on, with one case; return the administrator."""
    administrator = make_person("root", "administer", "view_approvalrequest", "view_auditentry")
    attention.switch_checks(every, by=administrator, via=Door.DASHBOARD)
    attention.add_case(CASE | changes, by=administrator, via=Door.DASHBOARD)
    return administrator


def work(owner: User, decider: User, number: int = FEWEST) -> None:
    for _ in range(number):
        decide(make_request(owner, tool_name="pay"), decider, Verdict.APPROVE)


def planted(owner: User, decider: User, **changes: object) -> SeededCheck:
    """The check of a person who has made enough decisions."""
    if not CheckSettings.objects.exists():
        switch_on(**changes)
    work(owner, decider)
    assert seeding.plant_due_checks() == 1
    return SeededCheck.objects.select_related("case").get(person=decider, decided_at=None)
