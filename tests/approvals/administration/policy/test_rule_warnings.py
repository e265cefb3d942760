"""Warnings about rules that are valid, but hardly meant so."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals.administration.rules.queries import draft_of, rows_of_draft, rows_with_warnings
from approvals.policy.policy_text import write_text
from tests.approvals.actions.policy.granting import ask
from tests.support.desk.ruling import apply_policy
from tests.support.desk.votes import make_team
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db


def stored(*rules: dict) -> dict:
    named = [{"name": f"Rule {number}", "then": "ask"} | rule for number, rule in enumerate(rules)]
    draft = draft_of(write_text({"rules": named}))
    assert draft.stored is not None, draft.faults
    return draft.stored


def warnings_of(*rules: dict) -> list[str]:
    """The warnings about the last of these rules."""
    return list(rows_with_warnings(stored(*rules))[-1].warnings)


def asking(*groups: dict, joined: str = "and", **ask: object) -> dict:
    return {"ask": {"stages": [{"groups": list(groups), "any": joined == "or"}], **ask}}


@pytest.fixture(autouse=True)
def deciders() -> None:
    """Bob decides, in Finance; Security has only Carol, who may not."""
    make_team("Finance", bob())
    make_team("Security", make_person("carol"))
    make_team("Empty")


FOREVER = "Not enough people can approve: requests would wait forever."
FINANCE, SECURITY = {"teams": ["Finance"]}, {"teams": ["Security"]}


@pytest.mark.parametrize(
    ("rule", "warnings"),
    [
        ({}, []),
        (asking(FINANCE), []),
        (asking(FINANCE, {"teams": ["Empty"]}), ["No one in Empty may decide requests.", FOREVER]),
        (asking(SECURITY), ["No one in Security may decide requests.", FOREVER]),
        (asking(FINANCE, SECURITY, joined="or"), ["No one in Security may decide requests."]),
        (asking({"people": ["carol"]}), ["carol may not decide requests.", FOREVER]),
        (
            asking(FINANCE | {"votes": 2}, deadline={"after": 3600, "then": "reject"}),
            [
                "Only 1 of Finance may decide requests, but the rule needs 2.",
                "Not enough people can approve: requests would wait until the deadline.",
            ],
        ),
        (asking({"votes": 2}), ["Only 1 person may decide requests, but the rule needs 2.", FOREVER]),
        (asking(FINANCE, {"people": ["bob"]}), [FOREVER]),
        ({"then": "allow"}, []),
    ],
)
def test_people_who_cannot_decide_are_named(rule, warnings):
    assert warnings_of(rule) == warnings


def test_a_desk_on_which_no_one_decides_is_named():
    User.objects.update(is_active=False)
    assert warnings_of({}) == ["No one may decide requests.", FOREVER]


def test_reminders_after_the_deadline_are_named():
    ask = {"deadline": {"after": 7200, "then": "reject"}, "reminders": [3600, 7200],
           "escalation": [{"after": 90_000, "people": ["bob"]}]}  # fmt: skip
    late = "The deadline comes first, so no one is reminded after 2 hours and 25 hours."
    assert warnings_of({"ask": ask}) == [late]
    assert warnings_of({"ask": ask | {"deadline": {"after": 90_060, "then": "reject"}}}) == []


def test_tools_that_no_agent_has_called_are_named():
    ask(alice(), {"amount": 7})
    assert warnings_of({"match": {"tools": ["REF*", "refund"]}}) == []
    tools = ["refunds", "refund", "pay*"]
    assert warnings_of({"match": {"tools": tools}}) == [
        "No agent has called refunds or pay* so far. Check the spelling."
    ]


def test_a_draft_names_only_what_the_live_policy_does_not_have_yet():
    ask(alice(), {"amount": 7})
    live = apply_policy({"name": "Rule 0", "then": "ask", **asking(SECURITY)})
    rows = rows_of_draft(stored(asking(SECURITY), asking(SECURITY) | {"match": {"tools": ["refund"]}}), live)
    taken = "No call reaches this rule: rule 1, “Rule 0”, takes them."
    assert [list(row.warnings) for row in rows] == [[], [taken, "No one in Security may decide requests.", FOREVER]]
