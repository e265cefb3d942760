"""Approve with changes in a dialog of Slack, where the input is flat."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from approvals.models import Decision
from approvals.states import Verdict
from tests.support.desk.requests import make_request, stored
from tests.support.desk.slack import card_in, carry, connected, linked, outcomes, rule_for
from tests.support.desk.votes import both, group, make_voted, vote
from tests.support.people import alice, bob, make_person
from tests.support.slack import Slack

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def slack(settings) -> Iterator[Slack]:
    with connected(settings) as slack:
        yield slack


CHANGEABLE = {
    "type": "object",
    "properties": {
        "amount": {"type": "number", "maximum": 500},
        "note": {"type": "string", "maxLength": 20},
        "colour": {"enum": ["red", "blue"]},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True},
        "on": {"type": ["string", "null"], "format": "date"},
        "extra": {"type": "string"},
    },
    "required": ["amount"],
}
CHANGED = {"amount": 120, "note": "", "colour": "blue", "tags": ["a", "c"], "on": "2026-12-24"}


def test_a_flat_input_is_changed_in_a_dialog_that_keeps_what_no_one_touches(slack):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    owner = alice()
    make_request(owner, input=CHANGED, response_schema=CHANGEABLE)
    make_request(owner, input=CHANGED, response_schema=CHANGEABLE, title="As it is?")
    card = card_in(slack, ops)
    assert (person.click(card, "pausepoint.edit").failed, list(person.modal.inputs)) == (
        "",
        [*(f"field.{number}" for number in range(6)), "reason"],
    )
    modal = person.modal
    modal.fill(field__0="900").submit()
    assert modal.view.errors == {"field.0": "900 is greater than the maximum of 500."}
    modal.fill(field__0="").submit()
    assert modal.view.errors == {"field.0": "Is missing."}
    modal.fill(field__0="99.5", reason="Less.").submit()
    person.click(slack.message_with(ops, "As it is?"), "pausepoint.edit")
    person.modal.submit()
    carry()
    rows = Decision.objects.order_by("decided_at")
    assert [(row.verdict, row.edited_input, row.comment, row.via) for row in rows] == [
        ("edit", {**CHANGED, "amount": 99.5}, "Less.", "slack"),
        ("approve", None, "", "slack"),
    ]


@pytest.mark.parametrize(
    "value",
    [
        {"rows": [1, 2]},
        {"to": {"name": "Ann"}},
        {"note": " spaced "},
        {"note": "so :smile:"},
        {"note": "so \N{SMILING FACE WITH OPEN MOUTH}"},
        {},
    ],
)
def test_an_input_that_a_dialog_might_alter_is_changed_on_its_page(slack, value):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops)
    make_request(alice(), input=value)
    assert sorted(card_in(slack, ops).buttons) == ["pausepoint.approve", "pausepoint.open", "pausepoint.reject"]


def test_a_dialog_for_changes_decides_nothing_after_the_input_has_changed(slack):
    first = bob()
    second = make_person("dora", "decide_approvalrequest")
    person = linked(slack, first)
    ops = slack.channel("ops", person)
    rule_for(first, ops)
    request = make_voted(alice(), both(group(first, second, votes=2)))
    person.click(card_in(slack, ops), "pausepoint.edit")
    vote(request, second, Verdict.EDIT, edited_input={"amount": 999})
    person.modal.fill(field__0="1").submit()
    carry()
    assert (outcomes(), stored(request).status) == (["changed"], "pending")
