"""Reminders and steps of escalation come in the order of their times, each to the people that the terms name."""

from __future__ import annotations

from hypothesis import given

from approvals.policy.follow_ups import follow_ups
from approvals.policy.terms import NO_TERMS, FollowUpStep, People, Stage, Terms, VoterGroup
from tests.approvals.policy.test_terms import terms


@given(terms)
def test_every_reminder_and_step_comes_once_in_the_order_of_its_time(each):
    steps = follow_ups(each)
    assert [step.after for step in steps] == sorted([*each.reminders, *(step.after for step in each.escalation)])
    assert sum(step.escalates for step in steps) == len(each.escalation)
    assert [step.after for step in steps if not step.escalates] == sorted(each.reminders)


def test_reminders_go_to_those_who_vote_and_steps_to_those_whom_they_name():
    finance, security = VoterGroup(teams=(1,), people=(7,)), VoterGroup(teams=(1, 2))
    each = Terms(
        stages=(Stage(groups=(finance, security)),),
        reminders=(60, 120),
        escalation=(FollowUpStep(after=60, people=(9,), teams=(4,)),),
    )
    voters = People(people=(7,), teams=(1, 2))
    assert [(step.event, step.after, step.to) for step in follow_ups(each)] == [
        ("request.reminded", 60, voters),
        ("request.escalated", 60, People(people=(9,), teams=(4,))),
        ("request.reminded", 120, voters),
    ]


def test_without_terms_nothing_follows():
    assert follow_ups(NO_TERMS) == ()
