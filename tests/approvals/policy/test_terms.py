"""The terms of a request are stored and read without loss."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.policy.terms import (
    NO_TERMS,
    FollowUpStep,
    MessageRule,
    OnExpire,
    Stage,
    Terms,
    VoterGroup,
    terms_of,
    with_more_votes,
)

ids = st.lists(st.integers(1, 99), max_size=3).map(tuple)
seconds = st.integers(1, 10**6)
groups = st.builds(VoterGroup, people=ids, teams=ids, votes=st.integers(1, 5))
stages = st.builds(Stage, groups=st.lists(groups, min_size=1, max_size=3).map(tuple), any=st.booleans())
steps = st.builds(FollowUpStep, people=ids, teams=ids, after=seconds)
terms = st.builds(
    Terms,
    stages=st.lists(stages, max_size=3).map(tuple),
    veto=st.booleans(),
    reason=st.sampled_from([None, *MessageRule]),
    typed_name=st.booleans(),
    fresh_sign_in=st.booleans(),
    on_expire=st.sampled_from([None, *OnExpire]),
    reminders=st.lists(seconds, max_size=3).map(tuple),
    escalation=st.lists(steps, max_size=3).map(tuple),
    working_hours=st.booleans(),
    channels=st.lists(st.sampled_from(["mail", "slack", "push"]), unique=True).map(tuple),
)


@given(terms)
def test_terms_are_read_as_they_were_stored(each):
    assert terms_of(json.loads(json.dumps(each.document()))) == each


def test_no_terms_store_nothing():
    assert (NO_TERMS.document(), terms_of(None), terms_of({})) == ({}, NO_TERMS, NO_TERMS)


@pytest.mark.parametrize("document", [{"reason": "sometimes"}, {"on_expire": "reject"}])
def test_stored_terms_with_an_unknown_word_are_not_read(document):
    with pytest.raises(ValueError, match="is not a valid"):
        terms_of(document)


@given(terms, st.integers(1, 5))
def test_more_votes_are_needed_in_the_last_stage_and_nothing_else_changes(each, more):
    raised = with_more_votes(each, more)
    *before, last = each.stages or (Stage(groups=(VoterGroup(),)),)
    assert raised.stages[:-1] == tuple(before)
    increases = [new.votes - old.votes for new, old in zip(raised.stages[-1].groups, last.groups, strict=True)]
    # One of the groups joined by *or* would be enough, so each needs more.
    assert increases == ([more] * len(last.groups) if last.any else [more] + [0] * (len(last.groups) - 1))
    as_before = [replace(group, votes=0) for group in last.groups]
    assert [replace(group, votes=0) for group in raised.stages[-1].groups] == as_before
    assert (raised.stages[-1].any, replace(raised, stages=())) == (last.any, replace(each, stages=()))
