"""People are notified when their vote is wanted: at once for the first stage, for later ones when they begin."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core import mail

from approvals.policy.terms import Stage, Terms
from approvals.states import Verdict
from tests.support.desk.away import away
from tests.support.desk.carrying import carry, later, tell, with_address
from tests.support.desk.requests import REFUND
from tests.support.desk.votes import group, make_team, make_voted, vote
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def people(settings):
    settings.PUBLIC_URL = "https://desk.example.org"
    people = [make_person(name, "decide_approvalrequest", "view_approvalrequest") for name in ("bob", "dave")]
    for person in people:
        tell(with_address(person))
    return people


@pytest.fixture
def payment(people):
    stages = [
        Stage(groups=(group(make_team(name, person)),)) for name, person in zip(["leads", "board"], people, strict=True)
    ]
    return make_voted(alice(), Terms(stages=tuple(stages)), input=REFUND, title="Pay")


def mailed() -> list[str]:
    receivers = [message.to[0] for message in mail.outbox]
    mail.outbox.clear()
    return sorted(receivers)


def test_the_next_stage_is_told_when_it_begins_and_offered_the_buttons(payment, people):
    carry()
    later()
    assert mailed() == ["bob@example.org", "dave@example.org"]
    vote(payment, people[0])
    carry()
    (message,) = mail.outbox
    assert (message.to, "Votes: Stage 2 of 2: 0 of 1, board missing" in message.body) == (["dave@example.org"], True)
    assert "Approve: https://" in message.body


def test_whose_vote_is_not_wanted_is_offered_no_buttons(payment, people):
    carry()
    bodies = {message.to[0]: message.body for message in mail.outbox}
    assert ("Approve: " in bodies["bob@example.org"], "Approve: " in bodies["dave@example.org"]) == (True, False)


def test_a_change_calls_those_again_who_have_voted(payment, people):
    vote(payment, people[0])
    carry()
    later()
    mailed()
    vote(payment, people[1], Verdict.EDIT, edited_input={**REFUND, "amount": 1})
    carry()
    assert mailed() == ["bob@example.org"]


def test_a_delegate_is_told_in_place_of_who_is_away_and_offered_the_buttons(payment, people):
    carol = make_person("carol", "decide_approvalrequest", "view_approvalrequest")
    away(people[1], with_address(carol))
    carry()
    later()
    mailed()
    vote(payment, people[0])
    carry()
    (message,) = mail.outbox
    assert (message.to, "Approve: https://" in message.body) == (["carol@example.org"], True)
    assert "You vote for dave, who is away." in message.body.splitlines()


def test_a_delegate_who_runs_the_agent_is_not_told_in_place_of_who_is_away(payment, people):
    away(people[1], with_address(User.objects.get(username="alice")))
    carry()
    later()
    mailed()
    vote(payment, people[0])
    carry()
    assert mailed() == ["dave@example.org"]
