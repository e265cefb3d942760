"""During an absence, the delegate has the absent person's scopes, and their decisions name that person."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals import actions, queries
from approvals.access import permissions
from approvals.access.absence import away_for, delegations
from approvals.access.standing import standing_of
from approvals.asking.answers import Answer
from approvals.exceptions import Invalid, NotAllowed, NotFound
from approvals.models import Absence, ApprovalRequest, AuditEntry, ToolSettings
from approvals.policy.grants import GrantTerms
from approvals.queries.policy.deciders import deciders_among, suggested_deciders
from approvals.states import Audience, Control, Door, Kind, Verdict, Width
from tests.support.desk.away import DAY, away
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, decisions, make_request
from tests.support.desk.scopes import again, make_scope, people_allowed, people_allowed_together, people_found
from tests.support.machine import Machine
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

DECIDER = "decide_approvalrequest"


@pytest.fixture
def absent() -> User:
    """Bob, the only decider of refunds, up to 1000."""
    person, root = bob(), User.objects.create_superuser("root")
    make_scope(person, by=root, tools=["refund"], limit=1000)
    make_scope(make_person("frank", DECIDER), by=root, tools=["payroll"])
    return person


def refund(owner: User, amount: int = 120, **changes: object) -> ApprovalRequest:
    return make_request(owner, tool_name="refund", input={"amount": amount}, **changes)


def rights(person: User, request: ApprovalRequest) -> tuple[bool, bool, bool]:
    """Whether the person sees, may decide, and finds the request."""
    person = again(person)
    listed = queries.requests_for(standing_of(person)).filter(pk=request.pk).exists()
    return (
        permissions.may_see(standing_of(person), request),
        permissions.may_close(standing_of(person), request),
        listed,
    )


def test_a_delegate_decides_for_who_is_away_and_it_is_on_record(absent):
    erin, request = make_person("erin", DECIDER), refund(alice())
    assert rights(erin, request) == (False, False, False)
    away(absent, erin)
    assert rights(erin, request) == (True, True, True)
    decide(request, again(erin), Verdict.APPROVE)
    (decision,) = decisions(request)
    assert (decision.by_name, decision.for_id, decision.for_name) == ("erin", absent.pk, "bob")
    assert AuditEntry.objects.get(event="request.decided").data["for"] == "bob"
    page = browser(again(erin)).get(request.get_absolute_url()).text
    assert "for <b>bob</b>, who was away" in page
    document = Machine(User.objects.get(username="alice")).send("GET", f"/requests/{request.pk}")
    assert (document.body["decision"]["by"], document.body["decision"]["decided_for"]) == ("erin", "bob")


def test_the_inbox_of_a_delegate_has_what_the_absent_person_decides(absent):
    erin, request = make_person("erin", DECIDER), refund(alice(), title="Refund for Zoë?")
    before = browser(again(erin)).get("/requests/").text
    away(absent, erin)
    assert ("Refund for Zoë?" in before, "Refund for Zoë?" in browser(again(erin)).get("/requests/").text) == (
        False,
        True,
    )
    assert "erin decides for bob until" in " ".join(browser(again(erin)).get(request.get_absolute_url()).text.split())
    machine = Machine(again(erin)).get("/requests?status=pending")
    assert [row["id"] for row in machine.body["items"]] == [str(request.pk)]


def test_in_their_own_right_no_one_decides_for_anyone(absent):
    erin = make_person("erin", DECIDER)
    make_scope(erin, by=User.objects.get(username="root"), tools=["refund"])
    away(absent, erin)
    request = refund(alice())
    decide(request, again(erin), Verdict.APPROVE)
    (decision,) = decisions(request)
    assert (decision.for_id, decision.for_name) == (None, None)
    assert "for" not in AuditEntry.objects.get(event="request.decided").data


@pytest.mark.parametrize(
    ("since", "for_"), [(DAY, timedelta(seconds=-1)), (timedelta(seconds=-60), DAY)], ids=["over", "not yet"]
)
def test_only_from_the_start_to_the_end(absent, since, for_):
    erin, request = make_person("erin", DECIDER), refund(alice())
    away(absent, erin, since=since, for_=for_)
    assert rights(erin, request) == (False, False, False)
    with pytest.raises(NotFound):
        decide(request, again(erin), Verdict.APPROVE)


def test_an_absence_that_has_ended_meanwhile_does_not_count(absent):
    erin, request = make_person("erin", DECIDER), refund(alice())
    away(absent, erin)
    before = again(erin)
    assert permissions.may_close(standing_of(before), request)
    Absence.objects.all().delete()
    with pytest.raises(NotFound):
        decide(request, before, Verdict.APPROVE)


def test_a_delegate_is_suggested_as_an_assignee_but_is_no_decider_in_their_own_right(absent):
    erin, frank = make_person("erin", DECIDER), User.objects.get(username="frank")
    for delegate, person in ((erin, absent), (make_person("gina", DECIDER), frank)):
        away(person, delegate)
    request = refund(alice())
    assert suggested_deciders(request) == ["bob", "erin", "root"]
    assert set(permissions.deciders_of(request).values_list("username", flat=True)) == {"bob", "erin", "root"}
    assert deciders_among(request, [absent.pk, erin.pk, frank.pk]) == {absent.pk}


def test_no_one_inactive_stands_in_for_anyone_or_is_stood_in_for(absent):
    erin = make_person("erin", DECIDER)
    away(absent, erin)
    assert away_for([erin.pk, absent.pk]) == {erin.pk: [absent.pk]}
    for person in (erin, absent):
        User.objects.filter(pk=person.pk).update(is_active=False)
        assert (away_for([erin.pk]), list(delegations())) == ({}, [])
        User.objects.filter(pk=person.pk).update(is_active=True)


def test_the_absent_person_may_still_decide(absent):
    away(absent, make_person("erin", DECIDER))
    assert rights(absent, refund(alice())) == (True, True, True)


def test_it_gives_no_right_that_the_delegate_does_not_hold(absent):
    auditor, stranger = make_person("carol", "view_approvalrequest"), make_person("mallory")
    request = refund(alice())
    away(absent, auditor)
    away(absent, stranger)
    assert (rights(auditor, request), rights(stranger, request)) == ((True, False, True), (False, False, False))


def test_whoever_may_decide_no_more_hands_nothing_on(absent):
    erin, request = make_person("erin", DECIDER), refund(alice())
    away(absent, erin)
    absent.user_permissions.clear()
    assert rights(erin, request) == (False, False, False)


def test_what_a_delegate_gets_goes_no_further(absent):
    erin, dave = make_person("erin", DECIDER), make_person("dave", DECIDER)
    request = refund(alice())
    away(absent, erin)
    away(erin, dave)
    assert (rights(erin, request), rights(dave, request)) == ((True, True, True), (False, False, False))


def test_the_limit_of_the_absent_person_holds_also_for_changes(absent):
    erin, asker = make_person("erin", DECIDER), alice()
    away(absent, erin)
    assert rights(erin, refund(asker, 1001)) == (True, False, True)
    request = refund(asker)
    with pytest.raises(NotAllowed):
        decide(request, again(erin), Verdict.EDIT, edited_input={"amount": 1001})
    decide(request, again(erin), Verdict.EDIT, edited_input={"amount": 999})
    assert decisions(request)[0].for_name == "bob"


def test_no_one_decides_for_another_what_their_own_agent_asks(absent):
    erin = make_person("erin", DECIDER)
    away(absent, erin)
    assert rights(erin, refund(erin)) == (True, False, True)


def test_no_one_decides_what_the_agent_of_the_absent_person_asks(absent):
    erin = make_person("erin", DECIDER)
    away(absent, erin)
    request = refund(absent)
    assert (rights(absent, request), rights(erin, request)) == ((True, True, True), (True, False, True))


@pytest.mark.parametrize(
    ("owner", "readers", "deciders"),
    [
        ("alice", {"alice"}, {"erin"}),
        # Four eyes stay four: neither of the two decides for the other about requests of their own agents.
        ("erin", set(), set()),
        ("bob", set(), set()),
    ],
)
def test_a_delegate_is_among_those_who_see_a_request_and_decides_unless_they_or_the_absent_run_the_agent(
    absent, owner, readers, deciders
):
    people = {"alice": alice(), "bob": absent, "erin": make_person("erin", DECIDER)}
    away(absent, people["erin"])
    request = refund(people[owner])
    everyone = ({"bob", "erin", "root"} | readers, {"bob", "root"} | deciders)
    assert [ways(request) for ways in (people_allowed, people_allowed_together, people_found)] == [everyone] * 3


def test_the_confirmation_of_who_runs_the_agent_is_not_handed_on(absent):
    ToolSettings.objects.create(tool_name="refund", control=Control.CONFIRM)
    erin, owner = make_person("erin", DECIDER), alice()
    request = refund(owner)
    away(owner, erin)
    assert (rights(owner, request), rights(erin, request)) == ((True, True, True), (False, False, False))


def test_a_grant_is_not_given_for_someone_else(absent):
    erin, request = make_person("erin", DECIDER), refund(alice())
    away(absent, erin)
    terms = GrantTerms(width=Width.INPUT, audience=Audience.KEY, until=None, uses=2, reason="")
    with pytest.raises(Invalid) as refusal:
        actions.decide(request.pk, Answer(Verdict.APPROVE, grant=terms), by=again(erin), via=Door.DASHBOARD)
    assert str(refusal.value) == "You are deciding for bob, who is away. Approve without a grant."


def test_questions_are_answered_for_who_is_away(absent):
    erin = make_person("erin", DECIDER)
    away(absent, erin)
    question = make_request(alice(), Kind.QUESTION, tool_name="refund")
    decide(question, again(erin), Verdict.RESPOND, answer="blue")
    assert decisions(question)[0].for_name == "bob"


def test_without_absences_no_statement_is_added_and_with_one_a_decision_costs_few(absent):
    erin, asker = make_person("erin", DECIDER), alice()
    make_scope(erin, by=User.objects.get(username="root"), tools=["refund"])

    def cost() -> int:
        request = refund(asker)
        person = again(erin)
        with CaptureQueriesContext(connection) as statements:
            decide(request, person, Verdict.APPROVE)
        return len(statements)

    cost()
    without = cost()
    away(bob_again(), erin)
    # The absent people and their scopes: before and after the lock.
    assert cost() - without <= 4


def bob_again() -> User:
    return User.objects.get(username="bob")


def test_delegates_stand_in_for_people_and_superusers_who_decide_and_are_away():
    root, gone, person, other = User.objects.create_superuser("root"), bob(), alice(), make_person("frank", DECIDER)
    away(root, person)
    away(gone, person)
    away(make_person("reader"), person)
    away(other, gone)
    assert away_for([person.pk]) == {person.pk: sorted([root.pk, gone.pk])}
    assert away_for([person.pk, gone.pk, other.pk]) == {person.pk: sorted([root.pk, gone.pk]), gone.pk: [other.pk]}
