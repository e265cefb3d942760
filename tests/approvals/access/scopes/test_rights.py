"""The rights of each role under scopes."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission, User

from approvals import actions, queries
from approvals.access import permissions
from approvals.access.scopes import Reach, Term
from approvals.access.standing import standing_of, standings_of
from approvals.actions.policy.scope_index import compare_earlier_requests
from approvals.administration.scopes.actions import ScopeTerms, delete_scope, store_scope, terms_of
from approvals.asking.answers import Answer
from approvals.exceptions import CannotBeAssigned, NotAllowed, NotFound
from approvals.models import ApprovalRequest, ApproverScope, Workflow
from approvals.models.policy.scopes import May
from approvals.states import Control, Door, Kind, Verdict
from tests.support.desk.away import away
from tests.support.desk.requests import decide, make_request, stored
from tests.support.desk.scopes import again, make_scope, people_allowed, people_found
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> User:
    return User.objects.create_superuser("root")


def rights(person: User, request: ApprovalRequest) -> tuple[bool, bool, bool]:
    """Whether the person sees, may answer or decide, and finds the request."""
    person = again(person)
    found = queries.requests_for(standing_of(person)).filter(pk=request.pk).exists()
    return permissions.may_see(standing_of(person), request), permissions.may_close(standing_of(person), request), found


def test_without_a_scope_everything_is_as_it_was():
    request = make_request(alice())
    assert (rights(bob(), request), rights(carol(), request)) == ((True, True, True), (True, False, True))


@pytest.mark.parametrize(
    ("may", "kind", "expected"),
    [
        ("see", Kind.APPROVAL, (True, False, True)),
        ("answer", Kind.APPROVAL, (True, False, True)),
        ("decide", Kind.APPROVAL, (True, True, True)),
        ("see", Kind.QUESTION, (True, False, True)),
        ("answer", Kind.QUESTION, (True, True, True)),
        ("decide", Kind.QUESTION, (True, True, True)),
    ],
)
def test_a_scope_lets_its_people_do_what_it_says(admin, may, kind, expected):
    decider = bob()
    make_scope(decider, by=admin, may=may, tools=["refund"])
    assert rights(decider, make_request(alice(), kind, tool_name="refund")) == expected


def test_a_scope_gives_no_right_that_a_person_does_not_hold(admin):
    auditor, stranger = carol(), make_person("mallory")
    make_scope(auditor, stranger, by=admin, tools=["refund"])
    request = make_request(alice(), tool_name="refund")
    assert (rights(auditor, request), rights(stranger, request)) == ((True, False, True), (False, False, False))


def test_whoever_is_in_no_scope_keeps_only_their_own(admin):
    decider, asker = bob(), alice()
    request = make_request(asker, tool_name="refund")
    own = make_request(decider, tool_name="refund")
    make_scope(make_person("erin", "decide_approvalrequest"), by=admin)
    assert rights(decider, request) == (False, False, False)
    assert rights(decider, own) == (True, False, True)
    assert rights(asker, request) == (True, False, True)


def test_the_right_to_ignore_scopes_leaves_the_others_as_they_are(admin):
    free = make_person("frank", "decide_approvalrequest", "ignore_scopes")
    only = make_person("grace", "ignore_scopes")
    make_scope(bob(), by=admin, tools=["other"])
    request = make_request(alice(), tool_name="refund")
    assert (rights(free, request), rights(only, request)) == ((True, True, True), (False, False, False))
    assert rights(admin, request) == (True, True, True)


def test_another_way_to_log_in_changes_nothing_in_who_decides_and_administers(admin, settings):
    decider = bob()
    settings.AUTHENTICATION_BACKENDS = [
        *settings.AUTHENTICATION_BACKENDS,
        "django.contrib.auth.backends.RemoteUserBackend",
    ]
    assert (set(permissions.deciders()), set(permissions.administrators())) == ({decider, admin}, {admin})


@pytest.mark.parametrize("control", [None, Control.CONFIRM])
def test_inactive_people_see_and_decide_nothing_and_are_found_nowhere(admin, control):
    request = make_request(make_person("owner"), tool_name="refund")
    decider = bob()
    ApprovalRequest.objects.filter(pk=request.pk).update(control=control, assigned_to=decider)
    make_scope(decider, by=admin, tools=["refund"])
    request = stored(request)
    runs = {"owner"} if control else set()
    assert people_found(request) == people_allowed(request) == ({"bob", "owner", "root"}, {"bob", "root"} | runs)
    assert set(permissions.deciders()) == {decider, admin}
    assert set(permissions.administrators()) == {admin}
    User.objects.update(is_active=False)
    assert people_found(request) == people_allowed(request) == (set(), set())
    assert not permissions.deciders().exists()
    assert not permissions.administrators().exists()


def test_members_of_a_team_are_in_its_scope_as_long_as_they_are_members(admin):
    decider, team = bob(), Group.objects.create(name="payments")
    make_scope(team, by=admin, tools=["refund"])
    request = make_request(alice(), tool_name="refund")
    before = rights(decider, request)
    decider.groups.add(team)
    inside = rights(decider, request)
    decider.groups.clear()
    assert (before, inside, rights(decider, request)) == ((False,) * 3, (True,) * 3, (False,) * 3)


def test_the_people_found_for_a_request_are_those_whom_its_scopes_name_directly_or_by_a_team(admin):
    team = Group.objects.create(name="payments")
    member, named = bob(), make_person("named", "decide_approvalrequest")
    elsewhere = make_person("elsewhere", "decide_approvalrequest")
    member.groups.add(team)
    make_scope(team, by=admin, tools=["refund"])
    make_scope(named, by=admin, tools=["refund", "other"])
    make_scope(elsewhere, by=admin, tools=["payroll"])
    make_scope(Group.objects.create(name="empty"), by=admin, tools=["refund"])
    asker = alice()
    tools = ("refund", "other", "payroll")
    found = [people_found(make_request(asker, tool_name=tool))[1] for tool in tools]
    assert found == [{"bob", "named", "root"}, {"named", "root"}, {"elsewhere", "root"}]


@pytest.mark.parametrize(
    ("value", "may_decide"),
    [(1000, True), (1000.01, False), (-1000, True), (-1001, False), ("999", True), (None, False), (True, False)],
)
def test_an_amount_has_to_be_within_the_limit_and_a_missing_one_never_is(admin, value, may_decide):
    decider = bob()
    make_scope(decider, by=admin, limit=1000)
    request = make_request(alice(), input={} if value is None else {"amount": value})
    assert rights(decider, request) == (True, may_decide, True)
    assert people_found(request)[1] == ({"bob", "root"} if may_decide else {"root"})


def test_of_several_scopes_the_largest_limit_counts(admin):
    decider = bob()
    make_scope(decider, by=admin, limit=1000)
    make_scope(decider, by=admin, limit=5000, tools=["refund"])
    asker = alice()
    found = [rights(decider, make_request(asker, tool_name=name, input={"amount": 3000})) for name in ("refund", "t")]
    assert found == [(True, True, True), (True, False, True)]


@pytest.mark.parametrize("edited", [{"amount": 1001}, {}, {"amount": "many"}])
def test_a_changed_amount_has_to_be_within_the_limit(admin, edited):
    decider = bob()
    make_scope(decider, by=admin, limit=1000)
    request = make_request(alice(), input={"amount": 10})
    with pytest.raises(NotAllowed):
        decide(request, again(decider), Verdict.EDIT, edited_input=edited)
    decide(request, again(decider), Verdict.EDIT, edited_input={"amount": 999})
    assert stored(request).status == "approved"


def test_an_earlier_request_is_seen_by_no_limited_person_until_it_was_compared(admin):
    decider = bob()
    request = make_request(alice(), tool_name="refund")
    terms = ScopeTerms(name="Refunds", match={"tools": ["refund"]}, people=[decider])
    store_scope(None, terms, by=admin, via=Door.DASHBOARD)
    before = rights(decider, stored(request))
    compare_earlier_requests()
    assert (before, rights(decider, stored(request))) == ((False, False, False), (True, True, True))


def test_ended_requests_are_compared_too(admin):
    decider = bob()
    asker = alice()
    requests = [make_request(asker, tool_name="refund") for _ in range(5)]
    for request in requests[:3]:
        decide(request, decider, Verdict.REJECT)
    make_scope(decider, by=admin, tools=["refund"])
    assert {rights(decider, stored(request))[0] for request in requests} == {True}


def test_a_scope_with_another_match_is_another_scope(admin):
    decider = bob()
    scope = make_scope(decider, by=admin, tools=["refund"])
    request = make_request(alice(), tool_name="refund")
    terms = terms_of(scope)
    changed = ScopeTerms(name=terms.name, match={"tools": ["other"]}, people=terms.people)
    store_scope(scope.pk, changed, by=admin, via=Door.DASHBOARD)
    assert rights(decider, stored(request)) == (False, False, False)
    compare_earlier_requests()
    assert rights(decider, stored(request)) == (False, False, False)
    assert ApproverScope.objects.get().pk != scope.pk


def test_losing_the_last_scope_that_fits_counts_at_once_and_the_last_of_all_frees_everyone(admin):
    decider = bob()
    scope, other = make_scope(decider, by=admin, tools=["refund"]), make_scope(by=admin)
    request = make_request(alice(), tool_name="refund")
    delete_scope(scope.pk, by=admin, via=Door.DASHBOARD)
    without = rights(decider, stored(request))
    delete_scope(other.pk, by=admin, via=Door.DASHBOARD)
    assert (without, rights(decider, stored(request))) == ((False, False, False), (True, True, True))


def test_a_scope_that_is_lost_during_a_call_does_not_decide(admin):
    decider = bob()
    scope = make_scope(decider, by=admin, tools=["refund"])
    make_scope(by=admin)
    request = make_request(alice(), tool_name="refund")
    person = again(decider)
    assert permissions.may_close(standing_of(person), request)
    delete_scope(scope.pk, by=admin, via=Door.DASHBOARD)
    with pytest.raises(NotFound):
        actions.decide(request.pk, Answer(Verdict.APPROVE), by=person, via=Door.DASHBOARD)
    assert stored(request).status == "pending"


def test_an_approval_is_assigned_only_to_those_whose_scope_lets_them_decide_it(admin):
    inside, outside = bob(), make_person("erin", "decide_approvalrequest")
    make_scope(inside, by=admin, tools=["refund"])
    make_scope(outside, by=admin, tools=["other"])
    owner = alice()
    with pytest.raises(CannotBeAssigned):
        make_request(owner, tool_name="refund", assigned_to=again(outside))
    request = make_request(owner, tool_name="refund", assigned_to=again(inside))
    with pytest.raises(CannotBeAssigned):
        actions.assign(request.pk, by=again(inside), via=Door.DASHBOARD, to=again(outside), instead_of="bob")


@pytest.mark.parametrize("amount", [5, 500, -5, -500, None])
def test_the_people_who_may_see_or_decide_a_request_are_those_whom_the_rights_name(admin, amount):
    people = [bob(), carol(), make_person("erin", "decide_approvalrequest"), make_person("mallory"), admin,
              make_person("frank", "decide_approvalrequest", "ignore_scopes")]  # fmt: skip
    make_scope(people[0], people[1], by=admin, tools=["refund"], limit=100)
    make_scope(people[2], by=admin, tools=["refund"], may="see")
    request = make_request(people[3], tool_name="refund", input={} if amount is None else {"amount": amount})
    assert people_found(request) == people_allowed(request)
    assert ("bob" in people_found(request)[1]) == (amount in {5, -5})


def test_an_assignee_is_among_the_people_who_may_see_a_request(admin):
    make_scope(bob(), by=admin, tools=["other"])
    request = make_request(alice(), Kind.QUESTION, tool_name="refund", assigned_to=make_person("nina"))
    readers = {"alice", "nina", "root"}
    assert (people_found(request)[0], people_allowed(request)[0]) == (readers, readers)


def test_many_people_at_once_have_the_rights_that_each_has_alone(admin):
    people = [bob(), carol(), make_person("erin", "decide_approvalrequest"), make_person("mallory"), admin,
              make_person("frank", "decide_approvalrequest", "ignore_scopes")]  # fmt: skip
    team = Group.objects.create(name="payments")
    people[2].groups.add(team)
    make_scope(people[0], people[1], by=admin, tools=["refund"], limit=100)
    make_scope(team, by=admin)
    loaded = list(User.objects.order_by("pk"))
    together = standings_of({each.pk for each in loaded})
    assert together == {each.pk: standing_of(each) for each in loaded}


def test_who_decides_does_not_change_what_they_may_decide(admin):
    both = make_person("hal", "administer", "decide_approvalrequest")
    scope = store_scope(None, ScopeTerms(name="First", people=[both]), by=both, via=Door.DASHBOARD)
    both = again(both)
    with pytest.raises(NotAllowed):
        store_scope(scope.pk, ScopeTerms(name="First", people=[]), by=both, via=Door.DASHBOARD)
    with pytest.raises(NotAllowed):
        store_scope(None, ScopeTerms(name="Second", people=[both]), by=both, via=Door.DASHBOARD)
    with pytest.raises(NotAllowed):
        delete_scope(scope.pk, by=both, via=Door.DASHBOARD)
    delete_scope(scope.pk, by=admin, via=Door.DASHBOARD)


def desk(admin: User) -> dict[str, User]:
    """People of each kind, of whom some stand in for others once those are away."""
    names = ("erin", "dora", "owen", "gone")
    people = {"root": admin, "alice": alice(), "bob": bob(), "carol": carol(), "mallory": make_person("mallory")}
    team = Group.objects.create(name="payments")
    team.permissions.add(Permission.objects.get(codename="decide_approvalrequest"))
    people |= {name: make_person(name, "decide_approvalrequest") for name in names}
    people["frank"] = make_person("frank", "decide_approvalrequest", "ignore_scopes")
    people["hal"] = make_person("hal")
    people["hal"].groups.add(team)
    User.objects.filter(username="gone").update(is_active=False)
    return people


def limit(people: dict[str, User]) -> None:
    """Let scopes leave refunds to Erin, smaller ones to Bob and to the team of Hal, and to be seen by Owen and Carol.

    They name Mallory too, who has no right that they could leave.
    """
    root, team = people["root"], Group.objects.get(name="payments")
    make_scope(people["erin"], people["mallory"], by=root, tools=["refund"])
    make_scope(people["bob"], team, by=root, tools=["refund"], limit=100)
    make_scope(people["owen"], people["carol"], by=root, may="see", tools=["refund"])


def leave(people: dict[str, User]) -> None:
    limit(people)
    for absent, delegate in (("bob", "dora"), ("hal", "erin"), ("owen", "mallory"), ("carol", "owen")):
        away(people[absent], people[delegate])


@pytest.mark.parametrize("happens", [lambda people: None, limit, leave], ids=["no scopes", "scopes", "absences"])
def test_the_database_finds_for_every_request_the_same_people_as_their_rights(admin, happens):
    people = desk(admin)
    asked = [make_request(people["alice"], tool_name=name) for name in ("refund", "wire")]
    happens(people)
    # Scopes were compared with them meanwhile.
    refund, other = map(stored, asked)
    people = {name: again(person) for name, person in people.items()}
    standings = {name: standing_of(person) for name, person in people.items()}
    for request, control, kind, amount, by, to in [
        (refund, "", Kind.APPROVAL, None, "alice", None),
        (refund, "", Kind.APPROVAL, 100.0, "alice", "mallory"),
        (refund, "", Kind.APPROVAL, -101.0, "bob", "gone"),
        (refund, "", Kind.APPROVAL, 50.0, "dora", None),
        (refund, "", Kind.RECOVERY, 50.0, "hal", None),
        (refund, "confirm", Kind.APPROVAL, -500.0, "dora", None),
        (refund, "confirm", Kind.RECOVERY, 50.0, "alice", None),
        (refund, "four_eyes", Kind.APPROVAL, 50.0, "bob", None),
        (refund, "four_eyes", Kind.APPROVAL, 50.0, "root", "mallory"),
        (other, "four_eyes", Kind.RECOVERY, None, "frank", None),
        (other, "confirm", Kind.APPROVAL, 50.0, "gone", None),
    ]:
        request.control, request.kind, request.amount = control, kind, amount
        request.requested_by = request.workflow.owner = people[by]
        request.assigned_to = people[to] if to else None
        sees = {name for name, standing in standings.items() if permissions.may_see(standing, request)}
        decides = {name for name, standing in standings.items() if permissions.may_decide(standing, request)}
        alone = {name for name in decides if permissions.decides_for(standings[name], request) is None}
        in_own_right = permissions.deciders_of(request, in_own_right=True)
        assert people_found(request) == (sees, decides)
        assert {person.username for person in in_own_right} == alone


def test_of_several_absent_people_with_the_right_the_first_one_is_decided_for():
    request = ApprovalRequest(scope_set_id=1, requested_by_id=9, workflow=Workflow(owner_id=9))
    terms = [Term(May.DECIDE, None, scope, seat) for scope, seat in ((3, 7), (4, 5), (5, 6))]
    seats = [
        Reach({1: each}, person=2).seat(May.DECIDE, request) for each in (terms, [*terms, Term(May.DECIDE, None, 6)])
    ]
    assert seats == [5, None]
