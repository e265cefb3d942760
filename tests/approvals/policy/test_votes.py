"""How votes are counted, against a reference model that tries every way to fill the groups."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.policy.terms import Group, Stage, Terms
from approvals.policy.votes import Cast, count, fill, stage_for
from approvals.states import Status

PEOPLE = range(1, 6)


# The reference model.


def can_fill(stage, groups, people):
    """Whether these people can meet a stage, found by trying every assignment of people to places."""
    if stage.any:
        return any(len(people & members) >= group.votes for group, members in zip(stage.groups, groups, strict=True))
    wanted = [members for group, members in zip(stage.groups, groups, strict=True) for _ in range(group.votes)]
    return any(
        all(person in members for person, members in zip(chosen, wanted, strict=True))
        for chosen in permutations(sorted(people), len(wanted))
    )


def model(terms, votes, electorate, digest):
    """(standing, current stage, who may vote now)."""
    valid = {}
    for vote in votes:
        if vote.digest == digest and any(vote.person in group for group in electorate[vote.stage]):
            valid[vote.person] = vote
    current = None
    for number, stage in enumerate(terms.stages):
        yes = {each.person for each in valid.values() if each.approves and each.stage == number}
        if not can_fill(stage, electorate[number], yes):
            current = number
            break
    noes = {each.person for each in valid.values() if not each.approves}
    standing = Status.PENDING if current is not None else Status.APPROVED
    if current is not None and noes:
        for number, stage in enumerate(terms.stages):
            members = set().union(*electorate[number])
            left = {each for each in members - noes if each not in valid or valid[each].stage == number}
            if terms.veto or (noes & members and not can_fill(stage, electorate[number], left)):
                standing = Status.REJECTED
    now = set() if current is None else set().union(*electorate[current]) - set(valid)
    return standing, current, now | set(valid)


# Random terms, people, and what happens to a request.

groups = st.builds(Group, votes=st.integers(1, 2))
stages = st.builds(Stage, groups=st.lists(groups, min_size=1, max_size=3).map(tuple), any=st.booleans())
terms = st.builds(Terms, stages=st.lists(stages, min_size=1, max_size=3).map(tuple), veto=st.booleans())
members = st.sets(st.sampled_from(PEOPLE), max_size=5)


@st.composite
def elections(draw):
    wanted = draw(terms)
    return wanted, [[draw(members) for _ in stage.groups] for stage in wanted.stages]


happenings = st.lists(
    st.one_of(
        st.tuples(st.just("vote"), st.sampled_from(PEOPLE), st.booleans()),
        st.tuples(st.just("edit"), st.sampled_from(PEOPLE), st.sampled_from("ab")),
        st.tuples(st.just("lose"), st.sampled_from(PEOPLE), st.none()),
        st.tuples(st.just("gain"), st.sampled_from(PEOPLE), st.none()),
    ),
    max_size=15,
)


@given(elections(), happenings)
def test_votes_changes_edits_and_lost_rights_count_as_in_the_model(election, happened):
    wanted, everyone = election
    votes, digest, lost = {}, "asked", set()
    for what, person, detail in happened:
        electorate = [[group - lost for group in of_stage] for of_stage in everyone]
        tally = count(wanted, votes.values(), electorate, digest)
        expected = model(wanted, votes.values(), electorate, digest)
        may = {each for each in PEOPLE if stage_for(each, tally, electorate) is not None}
        assert (tally.standing, tally.current, may) == expected
        if tally.standing != Status.PENDING:
            return
        if what == "lose":
            lost.add(person)
        elif what == "gain":
            lost.discard(person)
        elif person in may:
            stage = stage_for(person, tally, electorate)
            digest = detail if what == "edit" else digest
            votes[person] = Cast(person, detail if what == "vote" else True, stage, digest)


@given(elections(), st.sets(st.sampled_from(PEOPLE)), st.randoms())
def test_as_many_places_are_filled_as_is_possible_whoever_comes_first(election, people, random):
    wanted, everyone = election
    for stage, groups_of_stage in zip(wanted.stages, everyone, strict=True):
        order = sorted(people)
        random.shuffle(order)
        filled = fill(stage, groups_of_stage, order)
        full = [len(places) >= group.votes for places, group in zip(filled, stage.groups, strict=True)]
        assert (any(full) if stage.any else all(full)) == can_fill(stage, groups_of_stage, people)


def test_someone_of_both_groups_makes_room_for_someone_of_one():
    stage = Stage(groups=(Group(), Group()))
    assert fill(stage, [{1, 2}, {1}], [1, 2]) == [{2}, {1}]


def test_one_person_does_not_fill_two_groups():
    wanted = Terms(stages=(Stage(groups=(Group(), Group())),))
    tally = count(wanted, [Cast(1, True, 0, "d")], [[{1, 2}, {1, 2}]], "d")
    assert (tally.standing, sorted(tally.filled[0])) == (Status.PENDING, [0, 1])


@pytest.mark.parametrize(("noes", "standing"), [([1], Status.PENDING), ([1, 2], Status.REJECTED)])
def test_rejections_end_it_once_the_others_are_too_few(noes, standing):
    wanted = Terms(stages=(Stage(groups=(Group(votes=2),)),))
    votes = [Cast(person, False, 0, "d") for person in noes]
    assert count(wanted, votes, [[{1, 2, 3}]], "d").standing == standing


def test_a_stage_that_no_one_can_meet_rejects_nothing_by_itself():
    wanted = Terms(stages=(Stage(groups=(Group(votes=2),)),))
    assert count(wanted, [Cast(1, True, 0, "d")], [[{1}]], "d").standing == Status.PENDING
