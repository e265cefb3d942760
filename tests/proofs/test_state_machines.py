"""The state machines of the desk and of turns, elections, and asks, over many more stories than the fast tests play."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.approvals.access.scopes.test_model import Scopes
from tests.approvals.access.test_permissions_model import (
    agree_on_changes_with_the_model,
    agree_with_the_model,
    changes,
    requests,
    standings,
)
from tests.approvals.actions.asks.test_outcome import CASES, agrees_with_the_model
from tests.approvals.actions.decisions.test_outcome import STORIES
from tests.approvals.actions.decisions.test_outcome import agrees_with_the_model as answer_agrees_with_the_model
from tests.approvals.actions.decisions.test_votes import STORIES as VOTES
from tests.approvals.actions.decisions.test_votes import vote_agrees_with_the_model
from tests.approvals.actions.test_state_machine import Desk
from tests.approvals.policy.test_votes import absences, count_as_the_model, elections, happenings
from tests.chats.engine.test_state_machine import Desk as Turns
from tests.support.chats import agents
from tests.support.services import ROUNDS


@pytest.mark.django_db
def test_any_order_of_events_keeps_the_desk_consistent():
    run_state_machine_as_test(Desk, settings=settings(max_examples=25 * ROUNDS, stateful_step_count=20))


@pytest.mark.django_db
def test_any_order_of_changes_leaves_of_scopes_what_their_model_says():
    run_state_machine_as_test(
        Scopes, settings=settings(max_examples=25 * ROUNDS, stateful_step_count=15, deadline=None)
    )


@settings(max_examples=1_000 * ROUNDS)
@given(standings(), requests(), changes)
def test_everyone_may_what_the_model_of_permissions_says(who, request, change):
    agree_with_the_model(who, request)
    agree_on_changes_with_the_model(who, request, change)


@settings(max_examples=500 * ROUNDS)
@given(elections(), absences, happenings)
def test_any_order_of_votes_and_rights_counts_as_in_the_model(election, absent_first, happened):
    count_as_the_model(election, absent_first, happened)


@settings(max_examples=1_000 * ROUNDS)
@given(CASES)
def test_any_ask_becomes_what_the_model_says(case):
    agrees_with_the_model(case)


@settings(max_examples=1_000 * ROUNDS)
@given(STORIES)
def test_any_answer_becomes_what_the_model_says(story):
    answer_agrees_with_the_model(story)


@settings(max_examples=1_000 * ROUNDS)
@given(VOTES)
def test_any_vote_becomes_what_the_model_says(story):
    vote_agrees_with_the_model(story)


@pytest.mark.django_db(transaction=True)
def test_any_interleaving_keeps_the_promises_of_a_turn(settings):
    settings.HITL_AGENTS = [agents.PATH]
    run_state_machine_as_test(Turns, settings=LONG)


LONG = settings(max_examples=20 * ROUNDS, stateful_step_count=14, suppress_health_check=list(HealthCheck))
