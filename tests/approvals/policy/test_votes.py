"""How votes are counted, against a reference model that tries every way to fill the groups.

`tests/proofs/test_state_machines.py` counts many more elections.
"""

from __future__ import annotations

from itertools import chain, combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.policy.terms import Stage, Terms, VoterGroup
from approvals.policy.votes import Cast, Electorate, count, fill, has_enough_people, missing, seat_for
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


def model(terms, votes, groups, delegates, digest):
    """(standing, current stage, how many places each stage has filled, the vote that counts for each seat)."""
    valid = {}
    for vote in votes:
        right = vote.person == vote.seat or vote.person in delegates
        if vote.digest == digest and right and any(vote.seat in group for group in groups[vote.stage]):
            valid.setdefault(vote.seat, []).append(vote)
    counted = {seat: next((each for each in given if each.person == seat), given[-1]) for seat, given in valid.items()}
    current, filled = None, []
    for number, stage in enumerate(terms.stages):
        yes = {seat for seat, each in counted.items() if each.approves and each.stage == number}
        filled.append(most(stage, groups[number], yes))
        if current is None and not can_fill(stage, groups[number], yes):
            current = number
    noes = {seat for seat, each in counted.items() if not each.approves}
    standing = Status.PENDING if current is not None else Status.APPROVED
    if current is not None and noes:
        for number, stage in enumerate(terms.stages):
            members = set().union(*groups[number])
            left = {each for each in members - noes if each not in counted or counted[each].stage == number}
            if terms.veto or (noes & members and not can_fill(stage, groups[number], left)):
                standing = Status.REJECTED
    return standing, current, filled, counted


def model_has_enough(terms, groups, counted):
    """Whether the people who have not rejected can fill all stages, each with one place and voters in their stage."""
    choices = []
    for number, stage in enumerate(terms.stages):
        able = {each for each in PEOPLE if each not in counted or counted[each].stage == number}
        able -= {seat for seat, vote in counted.items() if not vote.approves}
        places = [[able & members] * group.votes for group, members in zip(stage.groups, groups[number], strict=True)]
        choices.append(places if stage.any else [[place for of_group in places for place in of_group]])
    return any(can_place([*chain.from_iterable(chosen)]) for chosen in product(*choices))


def can_place(places, placed=frozenset()):
    """Whether each place can have a person of its own, found by trying everyone."""
    if not places:
        return True
    first, *others = places
    return any(can_place(others, placed | {person}) for person in first - placed)


def model_seat(terms, person, away, groups, current, counted):
    """(the person this one votes for now, the stage); None if they may not vote."""
    for seat, vote in counted.items():
        if vote.person == person:
            return (seat, vote.stage) if seat in {person, *away} else None
    if person in counted:
        return person, counted[person].stage
    if current is None:
        return None
    stage, members = terms.stages[current], groups[current]
    yes = {seat for seat, each in counted.items() if each.approves and each.stage == current}
    for seat in [person, *away]:
        if seat not in counted and most(stage, members, yes | {seat}) > most(stage, members, yes):
            return seat, current
    return (person, current) if any(person in group for group in members) else None


def most(stage, groups, people):
    """How many places these people fill at most."""
    if stage.any:
        places = zip(stage.groups, groups, strict=True)
        return sum(min(group.votes, len(people & members)) for group, members in places)
    # By Hall's theorem: all of them, less the excess of those who share too few places.
    subsets = [set(few) for size in range(len(people) + 1) for few in combinations(sorted(people), size)]
    room = [sum(group.votes for group, of in zip(stage.groups, groups, strict=True) if few & of) for few in subsets]
    return min(len(people) - len(few) + places for few, places in zip(subsets, room, strict=True))


# Random terms, people, and events of a request.

groups = st.builds(VoterGroup, votes=st.integers(1, 2))
stages = st.builds(Stage, groups=st.lists(groups, min_size=1, max_size=3).map(tuple), any=st.booleans())
terms = st.builds(Terms, stages=st.lists(stages, min_size=1, max_size=3).map(tuple), veto=st.booleans())
members = st.sets(st.sampled_from(PEOPLE), max_size=5)


@st.composite
def elections(draw):
    wanted = draw(terms)
    return wanted, [[draw(members) for _ in stage.groups] for stage in wanted.stages]


person = st.sampled_from(PEOPLE)
happenings = st.lists(
    st.one_of(
        # Most frequent: most other events matter only after votes.
        *[st.tuples(st.just("vote"), person, st.booleans())] * 3,
        st.tuples(st.just("edit"), person, st.sampled_from("ab")),
        st.tuples(st.sampled_from(["lose", "gain", "lose delegation", "gain delegation"]), person, st.none()),
        # Someone goes away and has one delegate, or is back.
        st.tuples(st.just("away"), person, person),
        st.tuples(st.just("back"), person, st.none()),
    ),
    min_size=8,
    max_size=20,
)
#: The people absent at the beginning, each with one delegate.
absences = st.dictionaries(person, person, min_size=1, max_size=3).map(
    lambda away: {absent: by for absent, by in away.items() if absent != by}
)


def count_as_the_model(election, absent_first, happened):
    """After each event, also after the first outcome, the votes count as in the model."""
    wanted, everyone = election
    votes, digest, lost, undelegated, away = {}, "asked", set(), set(), {**absent_first}
    for what, person, detail in happened:
        groups = [[group - lost for group in of_stage] for of_stage in everyone]
        delegates = set(PEOPLE) - undelegated
        electorate = Electorate(groups, delegates)
        tally = count(wanted, votes.values(), electorate, digest)
        filled = [sum(map(len, places)) for places in tally.places]
        assert (tally.standing, tally.current, filled, tally.counted) == model(
            wanted, votes.values(), groups, delegates, digest
        )
        assert len(tally.voters) == len(tally.counted)
        enough = has_enough_people(wanted, votes.values(), electorate, digest)
        assert enough == model_has_enough(wanted, groups, tally.counted)
        stood_in_for = {each: sorted(absent for absent, by in away.items() if by == each) for each in PEOPLE}
        seats = {each: seat_for(wanted, (each, *stood_in_for[each]), tally, electorate) for each in PEOPLE}
        assert seats == {
            each: model_seat(wanted, each, stood_in_for[each], groups, tally.current, tally.counted) for each in PEOPLE
        }
        if what in {"lose", "gain"}:
            (lost.add if what == "lose" else lost.discard)(person)
        elif what in {"lose delegation", "gain delegation"}:
            (undelegated.add if what == "lose delegation" else undelegated.discard)(person)
        elif what in {"away", "back"}:
            away.pop(person, None)
            if what == "away" and detail != person:
                away[person] = detail
        elif (place := seats[person]) is not None and (place[0] == person or person not in undelegated):
            digest = detail if what == "edit" else digest
            votes.pop(person, None)
            absent = None if place[0] == person else place[0]
            votes[person] = Cast(person, detail if what == "vote" else True, place[1], digest, absent)


@given(elections(), absences, happenings)
def test_votes_changes_edits_lost_rights_and_seats_count_as_in_the_model(election, absent_first, happened):
    count_as_the_model(election, absent_first, happened)


@given(elections(), st.sets(st.sampled_from(PEOPLE)), st.randoms())
def test_as_many_places_are_filled_as_is_possible_whoever_comes_first(election, people, random):
    wanted, everyone = election
    for stage, groups_of_stage in zip(wanted.stages, everyone, strict=True):
        order = sorted(people)
        random.shuffle(order)
        filled = fill(stage, groups_of_stage, order)
        full = [len(places) >= group.votes for places, group in zip(filled, stage.groups, strict=True)]
        assert (any(full) if stage.any else all(full)) == can_fill(stage, groups_of_stage, people)
        assert sum(map(len, filled)) == most(stage, groups_of_stage, people)


def test_someone_of_both_groups_makes_room_for_someone_of_one():
    stage = Stage(groups=(VoterGroup(), VoterGroup()))
    assert fill(stage, [{1, 2}, {1}], [1, 2]) == [{2}, {1}]


def test_someone_of_the_first_group_moves_each_of_the_others_on():
    stage = Stage(groups=(VoterGroup(), VoterGroup(), VoterGroup()))
    assert fill(stage, [{1, 4}, {1, 2}, {2}], [1, 2, 4]) == [{4}, {1}, {2}]


def test_one_person_does_not_fill_two_groups():
    wanted = Terms(stages=(Stage(groups=(VoterGroup(), VoterGroup())),))
    tally = count(wanted, [Cast(1, True, 0, "d")], Electorate([[{1, 2}, {1, 2}]]), "d")
    assert (tally.standing, sorted(map(len, tally.places[0]))) == (Status.PENDING, [0, 1])


@pytest.mark.parametrize(("noes", "standing"), [([1], Status.PENDING), ([1, 2], Status.REJECTED)])
def test_rejections_end_it_once_the_others_are_too_few(noes, standing):
    wanted = Terms(stages=(Stage(groups=(VoterGroup(votes=2),)),))
    votes = [Cast(person, False, 0, "d") for person in noes]
    assert count(wanted, votes, Electorate([[{1, 2, 3}]]), "d").standing == standing


@pytest.mark.parametrize(("veto", "standing"), [(True, Status.REJECTED), (False, Status.PENDING)])
def test_with_a_veto_one_rejection_ends_it_though_the_others_are_enough(veto, standing):
    wanted = Terms(stages=(Stage(groups=(VoterGroup(),)),), veto=veto)
    assert count(wanted, [Cast(1, False, 0, "d")], Electorate([[{1, 2, 3}]]), "d").standing == standing


def test_a_stage_that_no_one_can_meet_rejects_nothing_by_itself():
    wanted = Terms(stages=(Stage(groups=(VoterGroup(votes=2),)),))
    assert count(wanted, [Cast(1, True, 0, "d")], Electorate([[{1}]]), "d").standing == Status.PENDING


def test_a_rejection_ends_nothing_because_another_stage_lacks_people():
    wanted = Terms(stages=(Stage(groups=(VoterGroup(),)), Stage(groups=(VoterGroup(votes=2),))))
    tally = count(wanted, [Cast(1, False, 0, "d")], Electorate([[{1, 2}], [{3}]]), "d")
    assert (tally.standing, tally.current) == (Status.PENDING, 0)


def test_whoever_has_approved_in_another_stage_is_not_counted_on_once_someone_has_rejected():
    wanted = Terms(stages=(Stage(groups=(VoterGroup(),)), Stage(groups=(VoterGroup(votes=2),))))
    votes = [Cast(1, True, 0, "d"), Cast(3, False, 1, "d")]
    standings = [count(wanted, votes, Electorate([[{1}], [{1, 2, 3} | more]]), "d").standing for more in (set(), {4})]
    assert standings == [Status.REJECTED, Status.PENDING]


def test_a_group_joined_by_or_fills_no_more_places_than_it_has():
    wanted = Terms(stages=(Stage(groups=(VoterGroup(votes=2), VoterGroup(votes=3)), any=True),))
    votes = [Cast(person, True, 0, "d") for person in (1, 2, 3)]
    (places,) = count(wanted, votes, Electorate([[{1, 2, 3}, {2, 3}]]), "d").places
    assert [len(seats) for seats in places] == [2, 2]


@pytest.mark.parametrize(
    ("stages", "votes", "enough"),
    [
        ([[{1, 2}], [{3}]], [], True),
        ([[{1, 2}], [set()]], [], False),
        # Someone has one place: in the stage of their vote, or in either before they vote.
        ([[{1, 2}], [{1, 2}]], [Cast(1, True, 0, "d")], True),
        ([[{1, 2}], [{1}]], [Cast(1, True, 0, "d")], False),
        ([[{1}], [{1}]], [], False),
        # People who have rejected don't count anywhere.
        ([[{1, 2}], [{3}]], [Cast(1, False, 0, "d")], True),
        ([[{1}], [{3}]], [Cast(1, False, 0, "d")], False),
        ([[{1, 2}], [{1}]], [Cast(1, False, 0, "d")], False),
    ],
)
def test_enough_people_are_those_who_can_still_fill_all_stages(stages, votes, enough):
    wanted = Terms(stages=tuple(Stage(groups=(VoterGroup(),)) for _ in stages))
    assert has_enough_people(wanted, votes, Electorate(stages), "d") == enough


@pytest.mark.parametrize(("first", "second", "enough"), [({1}, {2}, True), ({1}, set(), False), ({1, 3}, set(), True)])
def test_enough_people_for_one_group_are_enough_for_groups_joined_by_or(first, second, enough):
    wanted = Terms(stages=(Stage(groups=(VoterGroup(votes=2), VoterGroup()), any=True),))
    assert has_enough_people(wanted, [], Electorate([[first, second]]), "d") == enough


def test_the_own_vote_counts_also_if_that_of_a_delegate_came_later():
    wanted = Terms(stages=(Stage(groups=(VoterGroup(votes=2),)),))
    own, delegated = Cast(1, False, 0, "d"), Cast(2, True, 0, "d", absent=1)
    electorate = Electorate([[{1, 3}]], {2})
    assert [count(wanted, votes, electorate, "d").counted for votes in ([own, delegated], [delegated, own])] == [
        {1: own},
        {1: own},
    ]


def test_the_own_vote_replaces_that_of_a_delegate_in_the_stage_where_it_counts():
    wanted = Terms(stages=(Stage(groups=(VoterGroup(),)), Stage(groups=(VoterGroup(),))))
    electorate = Electorate([[{1}], [{1, 3}]], {2})
    tally = count(wanted, [Cast(2, True, 0, "d", absent=1)], electorate, "d")
    assert (tally.current, seat_for(wanted, (1,), tally, electorate)) == (1, (1, 0))


def test_a_seat_that_has_rejected_is_not_free_for_another_delegate():
    wanted = Terms(stages=(Stage(groups=(VoterGroup(votes=2),)),))
    electorate = Electorate([[{1, 3, 5}]], {2, 4})
    tally = count(wanted, [Cast(2, False, 0, "d", absent=1)], electorate, "d")
    assert (tally.standing, seat_for(wanted, (4, 1), tally, electorate)) == (Status.PENDING, None)


def test_no_one_is_missing_once_all_stages_are_met():
    wanted = Terms(stages=(Stage(groups=(VoterGroup(),)),))
    electorate = Electorate([[{1, 2}]])
    tallies = [count(wanted, votes, electorate, "d") for votes in ([], [Cast(1, True, 0, "d")])]
    assert [missing(wanted, tally, electorate) for tally in tallies] == [{1, 2}, set()]


@pytest.mark.parametrize(("delegates", "seats"), [({2}, {1}), (set(), set())])
def test_a_vote_for_an_absent_person_counts_while_the_delegate_may_decide(delegates, seats):
    wanted = Terms(stages=(Stage(groups=(VoterGroup(),)),))
    tally = count(wanted, [Cast(2, True, 0, "d", absent=1)], Electorate([[{1}]], delegates), "d")
    assert set(tally.counted) == seats


def test_whoever_has_approved_in_a_stage_is_counted_on_there_once_someone_has_rejected():
    wanted = Terms(stages=(Stage(groups=(VoterGroup(votes=2),)),))
    votes = [Cast(1, True, 0, "d"), Cast(3, False, 0, "d")]
    assert count(wanted, votes, Electorate([[{1, 2, 3}]]), "d").standing == Status.PENDING


def test_a_vote_in_a_stage_that_is_not_there_does_not_count():
    wanted = Terms(stages=(Stage(groups=(VoterGroup(),)),))
    assert count(wanted, [Cast(1, True, 1, "d")], Electorate([[{1}]]), "d").counted == {}


def test_whoever_is_not_needed_themselves_votes_for_the_absent_person_who_is():
    wanted = Terms(stages=(Stage(groups=(VoterGroup(), VoterGroup())),))
    electorate = Electorate([[{1, 2}, {3}]], {2})
    tally = count(wanted, [Cast(1, True, 0, "d")], electorate, "d")
    assert (missing(wanted, tally, electorate), seat_for(wanted, (2, 3), tally, electorate)) == ({3}, (3, 0))
