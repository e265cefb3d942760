"""A delegate votes for an absent person: one account has one vote and one seat, and a seat counts once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.access.standing import standing_of
from approvals.exceptions import NotAllowed
from approvals.models import Absence, AuditEntry, Vote
from approvals.policy.terms import Stage, Terms
from approvals.queries.policy.votes.ballots import ballot_of, ballots_of, wanted_voters
from approvals.states import Control, Kind, Verdict
from tests.support.desk.away import away
from tests.support.desk.requests import REFUND, decide, decisions, make_request, stored
from tests.support.desk.scopes import again, make_scope
from tests.support.desk.votes import both, group, make_team, make_voted, progress_of, vote, with_terms
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

DECIDER = ("decide_approvalrequest", "view_approvalrequest")


@pytest.fixture
def people():
    """Bob of finance, and Carol and Dave of no team."""
    return [bob(), *(make_person(name, *DECIDER) for name in ("carol", "dave"))]


@pytest.fixture
def finance(people):
    return make_team("finance", people[0])


@pytest.fixture
def payment(finance):
    """A payment that finance and security have to approve."""
    return make_voted(alice(), both(group(finance), group(make_team("security", make_person("erin", *DECIDER)))))


def root():
    return User.objects.filter(username="root").first() or User.objects.create_superuser("root")


def seats(request):
    """The voter, the seat and whether it counts, of each vote."""
    ballot = ballot_of(stored(request))
    return [(cast.vote.person_name, cast.vote.for_name, cast.counts) for cast in ballot.votes]


def back(person):
    """This person's absence ends now."""
    Absence.objects.filter(person=person).update(until=timezone.now() - timedelta(seconds=1))


def test_a_delegate_votes_for_who_is_away_and_it_is_on_record(payment, people):
    carol = people[1]
    with pytest.raises(NotAllowed, match="is waiting for finance and security"):
        vote(payment, carol)
    away(people[0], carol)
    vote(payment, again(carol), comment="As agreed.")
    assert (progress_of(payment), seats(payment)) == ("1 of 2, security missing", [("carol", "bob", True)])
    assert AuditEntry.objects.get(event="request.voted").data["for"] == "bob"


def test_the_vote_of_a_delegate_that_decides_says_for_whom(finance, people):
    request = make_voted(alice(), both(group(finance)))
    away(people[0], people[1])
    vote(request, again(people[1]))
    (decision,) = decisions(request)
    assert (stored(request).status, decision.by_name, decision.for_name) == ("approved", "carol", "bob")


def test_a_delegate_who_has_an_own_seat_takes_that_one_and_no_second(people):
    finance = make_team("finance", *people[:2])
    request = make_voted(alice(), both(group(finance, votes=2)))
    away(people[0], people[1])
    carol = again(people[1])
    vote(request, carol)
    assert vote(request, carol).replayed
    assert (progress_of(request), seats(request)) == ("1 of 2, finance missing", [("carol", None, True)])


def test_an_own_seat_that_is_not_wanted_leaves_the_one_of_who_is_away(finance, people):
    bob, carol, dave = people
    security = make_team("security", carol, dave)
    request = make_voted(alice(), both(group(finance), group(security)))
    vote(request, dave)
    away(bob, carol)
    vote(request, again(carol))
    assert seats(request) == [("dave", None, True), ("carol", "bob", True)]
    assert stored(request).status == "approved"


def test_one_account_has_one_vote_also_over_stages(finance, people):
    bob, carol, _dave = people
    board = make_team("board", carol)
    request = make_voted(alice(), Terms(stages=(Stage(groups=(group(finance),)), Stage(groups=(group(board),)))))
    away(bob, carol)
    vote(request, again(carol))
    assert vote(request, again(carol)).replayed
    assert (progress_of(request), wanted_voters(stored(request))) == ("Stage 2 of 2: 0 of 1, board missing", set())


def test_if_both_vote_that_of_the_absent_person_replaces_that_of_the_delegate(payment, people):
    bob, carol, _dave = people
    away(bob, carol)
    vote(payment, again(carol))
    vote(payment, bob, Verdict.APPROVE, comment="I am there after all.")
    assert seats(payment) == [("carol", "bob", False), ("bob", None, True)]
    assert [cast.replaced for cast in ballot_of(stored(payment)).votes] == [True, False]
    with pytest.raises(NotAllowed):
        vote(payment, again(carol), Verdict.REJECT)
    vote(payment, bob, Verdict.REJECT)
    assert stored(payment).status == "rejected"
    assert seats(payment) == [("carol", "bob", False), ("bob", None, True)]


def test_a_delegate_does_not_vote_after_the_absent_person(payment, people):
    bob, carol, _dave = people
    vote(payment, bob)
    away(bob, carol)
    with pytest.raises(NotAllowed, match="is waiting for security"):
        vote(payment, again(carol))


def test_a_vote_goes_on_counting_when_the_absent_person_returns_but_is_not_changed_then(payment, people):
    bob, carol, _dave = people
    away(bob, carol)
    vote(payment, again(carol))
    back(bob)
    assert seats(payment) == [("carol", "bob", True)]
    with pytest.raises(NotAllowed):
        vote(payment, again(carol), Verdict.REJECT)
    vote(payment, bob, Verdict.REJECT)
    assert stored(payment).status == "rejected"


def test_a_delegate_whom_scopes_let_in_only_for_who_was_away_counts_on_too(payment, people):
    bob, carol, _dave = people
    make_scope(bob, by=root(), tools=["pay"])
    away(bob, carol)
    vote(payment, again(carol))
    back(bob)
    assert seats(payment) == [("carol", "bob", True)]


def test_through_scopes_of_who_is_away_there_is_no_second_seat_for_anyone_who_may_decide(people):
    bob, carol, _dave = people
    make_scope(bob, by=root(), tools=["pay"])
    request = make_voted(alice(), both(group(votes=2)))
    away(bob, carol)
    vote(request, again(carol))
    assert seats(request) == [("carol", "bob", True)]
    vote(request, again(bob))
    assert (progress_of(request), seats(request)) == ("1 of 2", [("carol", "bob", False), ("bob", None, True)])


def test_a_delegation_goes_no_further(payment, people):
    bob, carol, dave = people
    away(bob, carol)
    away(carol, dave)
    with pytest.raises(NotAllowed):
        vote(payment, again(dave))
    vote(payment, again(carol))
    assert seats(payment) == [("carol", "bob", True)]


@pytest.mark.parametrize("runner", ["bob", "carol"])
@pytest.mark.parametrize("control", ["", Control.FOUR_EYES])
def test_no_one_votes_for_another_where_either_of_them_runs_the_agent(finance, people, runner, control):
    bob, carol, _dave = people
    request = make_voted(bob if runner == "bob" else carol, both(group(finance)))
    with_terms(request, both(group(finance)), control=control)
    away(bob, carol)
    with pytest.raises(NotAllowed):
        vote(request, again(carol))
    assert carol.pk not in wanted_voters(stored(request))


def test_of_two_delegates_one_after_another_only_one_votes(payment, people):
    bob, carol, dave = people
    away(bob, carol)
    vote(payment, again(carol))
    back(bob)
    away(bob, dave)
    with pytest.raises(NotAllowed, match="is waiting for security"):
        vote(payment, again(dave))
    carol.user_permissions.clear()
    vote(payment, again(dave))
    assert seats(payment) == [("carol", "bob", False), ("dave", "bob", True)]


def test_someone_who_stands_in_for_two_has_one_seat(people):
    bob, carol, dave = people
    finance, security = make_team("finance", bob), make_team("security", dave)
    request = make_voted(alice(), both(group(finance), group(security)))
    away(bob, carol)
    away(dave, carol)
    vote(request, again(carol))
    assert vote(request, again(carol)).replayed
    assert (progress_of(request), seats(request)) == ("1 of 2, security missing", [("carol", "bob", True)])


@pytest.mark.parametrize(
    "loss", ["Bob left the team", "Bob lost the right", "Carol lost the right", "Carol is inactive"]
)
def test_a_vote_counts_only_while_both_may(payment, finance, people, loss):
    bob, carol, _dave = people
    away(bob, carol)
    vote(payment, again(carol))
    who = bob if loss.startswith("Bob") else carol
    if "team" in loss:
        finance.user_set.remove(bob)
    elif "inactive" in loss:
        carol.is_active = False
        carol.save()
    else:
        who.user_permissions.clear()
    assert (progress_of(payment), seats(payment)) == (
        "0 of 2, finance and security missing",
        [("carol", "bob", False)],
    )


def test_the_limit_of_the_absent_person_holds_for_what_a_delegate_proposes(people):
    bob, carol, _dave = people
    make_scope(bob, by=root(), tools=["pay"], limit=1000)
    make_scope(carol, by=root(), tools=["pay"])
    finance = make_team("finance", bob)
    request = make_voted(alice(), both(group(finance, votes=1)), input={**REFUND, "amount": 10})
    away(bob, carol)
    with pytest.raises(NotAllowed, match="You vote for bob, who cannot approve this amount"):
        vote(request, again(carol), Verdict.EDIT, edited_input={**REFUND, "amount": 2000})
    assert Vote.objects.count() == 0
    vote(request, again(carol), Verdict.EDIT, edited_input={**REFUND, "amount": 900})
    assert decisions(request)[0].for_name == "bob"


def test_the_vote_of_a_delegate_is_wanted_until_the_seat_is_taken(payment, people):
    bob, carol, _dave = people
    erin = User.objects.get(username="erin")
    assert wanted_voters(stored(payment)) == {bob.pk, erin.pk}
    away(bob, carol)
    assert wanted_voters(stored(payment)) == {bob.pk, carol.pk, erin.pk}
    vote(payment, again(carol))
    assert wanted_voters(stored(payment)) == {erin.pk}


def test_many_ballots_cost_a_delegate_as_many_statements_as_one(payment, finance, people):
    away(people[0], people[1])
    vote(payment, again(people[1]))
    requests = [stored(payment), *(stored(make_voted(payment.requested_by, both(group(finance)))) for _ in range(3))]

    def cost(few):
        viewer = standing_of(people[1])
        with CaptureQueriesContext(connection) as statements:
            assert all(ballot.admits(viewer) for ballot in ballots_of(few, [viewer]).values())
        return len(statements)

    assert cost(requests) == cost(requests[:1])


def test_that_a_call_has_succeeded_is_said_for_who_is_away(finance, people):
    request = make_request(alice(), Kind.RECOVERY, tool_name="pay")
    with_terms(request, both(group(finance)))
    away(people[0], people[1])
    decision = decide(request, again(people[1]), Verdict.RESPOND, answer="receipt 7").decision
    assert (decision.by_name, decision.for_name) == ("carol", "bob")
