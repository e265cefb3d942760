"""Votes are counted under the lock of the request, for every voter and protocol."""

from __future__ import annotations

import pytest

from approvals.administration.keys.actions import create_key
from approvals.exceptions import AlreadyDecided, Changed, NotAllowed
from approvals.models.actors import KeyActor
from approvals.policy.terms import Stage, Terms
from approvals.queries.policy.votes.ballots import ballot_of
from approvals.states import Control, Door, Kind, Verdict
from tests.support.desk.requests import REFUND, cancel, decide, decisions, events, make_request, stored
from tests.support.desk.votes import both, group, make_team, make_voted, progress_of, vote, votes_of, with_terms
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db

LESS = {**REFUND, "amount": 50}


def decider(name):
    return make_person(name, "decide_approvalrequest", "view_approvalrequest")


@pytest.fixture
def people():
    return [decider(name) for name in ("bob", "dave", "erin", "frank")]


@pytest.fixture
def two(people):
    """A request that needs two of anyone."""
    return make_voted(alice(), both(group(votes=2)))


def test_the_first_vote_decides_nothing_and_the_second_all(two, people):
    bob, dave, *_ = people
    first = vote(two, bob, comment="Fine.")
    assert (first.decision, first.vote.person_name, stored(two).status) == (None, "bob", "pending")
    assert progress_of(two) == "1 of 2"
    second = vote(two, dave, comment="Go.")
    assert (second.decision.by_name, second.decision.comment, stored(two).status) == ("dave", "Go.", "approved")
    assert votes_of(two) == [("bob", "approve"), ("dave", "approve")]
    assert events(two) == ["request.created", "request.voted", "request.voted", "request.decided"]


def test_no_one_votes_twice_through_another_door_or_key(two, people):
    bob = people[0]
    bots = [KeyActor(bob, create_key(bob, name=name, scopes=["decide"])[0]) for name in ("one", "two")]
    assert vote(two, bob).replayed is False
    for actor in (*bots, bob):
        assert vote(two, actor, via=Door.REST).replayed is True
    assert (votes_of(two), progress_of(two), events(two)) == (
        [("bob", "approve")],
        "1 of 2",
        ["request.created", "request.voted"],
    )


def test_people_whose_names_look_alike_are_the_accounts_that_they_are(two, people):
    twins = [people[0], decider("Bob")]
    for twin in twins:
        vote(two, twin)
    assert (stored(two).status, votes_of(two)) == ("approved", [("bob", "approve"), ("Bob", "approve")])


def test_a_vote_is_changed_in_place_and_each_change_is_on_record(two, people):
    bob, dave, *_ = people
    vote(two, bob)
    vote(two, bob, Verdict.REJECT, comment="On second thoughts.")
    assert (votes_of(two), progress_of(two)) == ([("bob", "reject")], "0 of 2")
    vote(two, dave)
    assert stored(two).status == "pending"
    vote(two, bob)
    assert (stored(two).status, decisions(two)[0].by_name) == ("approved", "bob")
    assert events(two).count("request.voted") == 4


def test_enough_rejections_reject_and_the_last_one_is_named(two, people):
    for person in people[:2]:
        vote(two, person, Verdict.REJECT)
        assert stored(two).status == "pending"
    outcome = vote(two, people[2], Verdict.REJECT, comment="No.")
    assert (outcome.decision.by_name, outcome.decision.verdict, stored(two).status) == ("erin", "reject", "rejected")


def test_a_veto_ends_it_at_once(people):
    request = make_voted(alice(), Terms(stages=both(group(votes=2)).stages, veto=True))
    vote(request, people[0])
    vote(request, people[1], Verdict.REJECT)
    assert (stored(request).status, decisions(request)[0].by_name) == ("rejected", "dave")


def test_a_veto_after_the_quorum_is_too_late(people):
    request = make_voted(alice(), Terms(stages=both(group(votes=2)).stages, veto=True))
    for person in people[:2]:
        vote(request, person)
    with pytest.raises(AlreadyDecided, match="dave"):
        vote(request, people[2], Verdict.REJECT)
    with pytest.raises(AlreadyDecided, match="dave"):
        vote(request, people[0], Verdict.REJECT)
    assert (stored(request).status, len(decisions(request))) == ("approved", 1)


def test_a_vote_that_is_sent_again_after_the_outcome_is_a_replay(two, people):
    for person in people[:2]:
        vote(two, person)
    for person in people[:2]:
        assert vote(two, person).replayed is True
    assert len(decisions(two)) == 1


def test_both_teams_have_to_approve_and_one_person_fills_one_place(people):
    bob, dave, erin, frank = people
    finance, security = make_team("finance", bob, dave), make_team("security", bob, erin)
    request = make_voted(alice(), both(group(finance), group(security)))
    assert progress_of(request) == "0 of 2, finance and security missing"
    with pytest.raises(NotAllowed, match="This request is waiting for finance and security"):
        vote(request, frank)
    vote(request, bob)
    assert progress_of(request) == "1 of 2, security missing"
    vote(request, dave)
    assert stored(request).status == "approved"


def test_either_team_is_enough(people):
    bob, dave, *_ = people
    finance, board = make_team("finance", bob), make_team("board", dave)
    terms = Terms(stages=(Stage(groups=(group(finance, votes=2), group(board)), any=True),))
    request = make_voted(alice(), terms)
    vote(request, bob)
    assert progress_of(request) == "finance 1 of 2 or board 0 of 1"
    vote(request, dave)
    assert stored(request).status == "approved"


def test_stages_come_in_order_and_each_person_votes_once(people):
    bob, dave, erin, _frank = people
    leads, board = make_team("leads", bob, dave), make_team("board", bob, erin)
    request = make_voted(alice(), Terms(stages=(Stage(groups=(group(leads),)), Stage(groups=(group(board),)))))
    with pytest.raises(NotAllowed, match="is waiting for leads"):
        vote(request, erin)
    vote(request, bob)
    assert (progress_of(request), vote(request, bob).replayed) == ("Stage 2 of 2: 0 of 1, board missing", True)
    with pytest.raises(NotAllowed, match="is waiting for board"):
        vote(request, dave)
    vote(request, erin)
    assert stored(request).status == "approved"


def test_an_edit_starts_anew_and_others_vote_on_the_proposal(two, people):
    bob, dave, erin, _ = people
    vote(two, bob)
    vote(two, dave, Verdict.EDIT, edited_input=LESS)
    now = stored(two)
    assert (now.proposal["input"], now.proposal["by"], progress_of(two)) == (LESS, "dave", "1 of 2")
    with pytest.raises(Changed):
        decide(two, erin, Verdict.APPROVE, shown_digest=two.input_digest)
    with pytest.raises(Changed):
        decide(two, erin, Verdict.APPROVE)
    vote(two, erin)
    decision = decisions(two)[0]
    assert (decision.verdict, decision.edited_input, decision.by_name) == ("edit", LESS, "erin")
    assert decision.approved_digest == now.voted_digest


def test_the_input_that_was_asked_may_be_proposed_again(two, people):
    bob, dave, *_ = people
    vote(two, bob, Verdict.EDIT, edited_input=LESS)
    vote(two, dave, Verdict.EDIT, edited_input=REFUND)
    assert (stored(two).proposal, progress_of(two)) == (None, "1 of 2")
    vote(two, bob)
    assert (decisions(two)[0].verdict, stored(two).status) == ("approve", "approved")


def test_votes_on_an_input_count_again_when_it_is_proposed_again(two, people):
    bob, dave, erin, _ = people
    vote(two, bob)
    vote(two, dave, Verdict.EDIT, edited_input=LESS)
    vote(two, erin, Verdict.EDIT, edited_input=REFUND)
    assert (stored(two).status, decisions(two)[0].verdict) == ("approved", "approve")


def test_who_proposes_again_what_they_have_voted_on_before_is_heard(people):
    request, (bob, dave, *_) = make_voted(alice(), both(group(votes=3))), people
    vote(request, bob)
    vote(request, dave, Verdict.EDIT, edited_input=LESS)
    again = vote(request, bob, Verdict.EDIT, edited_input=REFUND)
    assert (again.replayed, stored(request).proposal, progress_of(request)) == (False, None, "1 of 3")


@pytest.mark.parametrize("loss", ["left the team", "was deactivated", "lost the right"])
def test_a_voter_who_loses_the_right_before_the_outcome_does_not_count(people, loss):
    bob, dave, *_ = people
    team = make_team("finance", *people)
    request = make_voted(alice(), both(group(team, votes=2)))
    vote(request, bob)
    if loss == "left the team":
        team.user_set.remove(bob)
    elif loss == "was deactivated":
        bob.is_active = False
        bob.save()
    else:
        bob.user_permissions.clear()
    vote(request, dave)
    assert (stored(request).status, progress_of(request)) == ("pending", "1 of 2, finance missing")
    assert [(cast.vote.person_name, cast.lost) for cast in ballot_of(stored(request)).votes] == [
        ("bob", True),
        ("dave", False),
    ]


def test_what_counted_is_kept_with_the_votes(people):
    team = make_team("finance", *people)
    request = make_voted(alice(), both(group(team, votes=2)))
    vote(request, people[0])
    team.user_set.remove(people[0])
    for person in people[1:3]:
        vote(request, person)
    team.user_set.clear()
    assert [(cast.vote.person_name, cast.lost) for cast in ballot_of(stored(request)).votes] == [
        ("bob", True),
        ("dave", False),
        ("erin", False),
    ]


def test_whoever_asked_does_not_vote_under_four_eyes(people):
    request = make_request(people[0], tool_name="pay")
    with_terms(request, both(group(votes=1)), control=Control.FOUR_EYES)
    with pytest.raises(NotAllowed, match="two-person rule"):
        vote(request, people[0])


def test_no_one_cancels_what_several_have_to_decide_but_who_asked(two, people):
    with pytest.raises(NotAllowed):
        cancel(two, people[0])
    assert cancel(two, two.requested_by).decision.verdict == "cancel"


def test_a_question_is_answered_by_one_person(people):
    request = with_terms(make_request(alice(), Kind.QUESTION), both(group(votes=2)))
    assert decide(request, people[0], Verdict.RESPOND, answer="Blue.").decision.verdict == "respond"


def test_that_a_call_has_succeeded_is_said_by_one_person_whose_vote_is_wanted(people):
    bob, dave, *_ = people
    request = make_request(alice(), Kind.RECOVERY, tool_name="pay")
    with_terms(request, both(group(make_team("finance", bob), votes=1), group(make_team("ops", *people[2:]))))
    with pytest.raises(NotAllowed, match="is waiting for finance"):
        decide(request, dave, Verdict.RESPOND, answer="receipt 7")
    assert decide(request, bob, Verdict.RESPOND, answer="receipt 7").decision.verdict == "respond"
