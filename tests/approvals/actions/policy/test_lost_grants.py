"""A grant ends for good once its giver has lost a right that it needs, even if they regain it before the sweep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.contrib.auth.models import Group as Team
from django.contrib.auth.models import Permission, User

from approvals.actions.policy import end_due_grants
from approvals.administration.people.actions import change_person, give_roles, remove_team, set_active
from approvals.administration.scopes.actions import ScopeTerms, delete_scope, store_scope, terms_of
from approvals.models import ApproverScope, AuditEntry, Grant
from approvals.models.people import RoleName
from approvals.states import Door, Width
from tests.approvals.actions.policy.granting import ask, give, terms
from tests.support.desk.away import away
from tests.support.desk.pressing import browser
from tests.support.desk.scopes import again, make_scope
from tests.support.desk.votes import make_team
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db

GONE, LOST = "giver_left", "right_lost"


def root() -> User:
    return User.objects.filter(username="root").first() or User.objects.create_superuser("root")


@pytest.fixture
def giver() -> User:
    person = make_person("bob")
    give_roles(person, [RoleName.APPROVER])
    return again(person)


def change(person: User, roles: tuple[str, ...] = (RoleName.APPROVER,), teams: tuple[str, ...] = ()) -> None:
    ids = Team.objects.filter(name__in=teams).values_list("pk", flat=True)
    change_person(person.pk, email=person.email, roles=roles, team_ids=list(ids), by=root())


def limit_to(limit: float | None) -> None:
    scope = ApproverScope.objects.get(name="Scope 1")
    store_scope(scope.pk, replace(terms_of(scope), limit=limit), by=root(), via=Door.DASHBOARD)


def let_scope_say(**changes: object) -> None:
    scope = ApproverScope.objects.get(name="Scope 1")
    store_scope(scope.pk, replace(terms_of(scope), **changes), by=root(), via=Door.DASHBOARD)


def in_admin(person: User, **fields: object) -> None:
    """Store the form of a person in Django's admin, as a superuser does."""
    sent = {"username": person.username, "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00", "is_active": "on"}
    sent |= {"groups": [str(pk) for pk in person.groups.values_list("pk", flat=True)]} | fields
    sent = {name: value for name, value in sent.items() if value is not None}
    assert browser(root()).post(f"/admin/auth/user/{person.pk}/change/", sent).status_code == 302


#: The change of the giver, its reversal, and the reason the grant ends with.
ANYWAY: dict[str, tuple[Callable[[User], object], Callable[[User], object], str]] = {
    "deactivated": (
        lambda giver: set_active(giver.pk, active=False, by=root()),
        lambda giver: set_active(giver.pk, active=True, by=root()),
        GONE,
    ),
    "role": (lambda giver: change(giver, roles=(RoleName.AUDITOR,)), change, LOST),
    "deactivated in the admin": (
        lambda giver: in_admin(giver, is_active=None),
        lambda giver: in_admin(giver),
        GONE,
    ),
    "role in the admin": (
        lambda giver: in_admin(giver, groups=[]),
        lambda giver: in_admin(giver, groups=[str(Team.objects.get(role__name=RoleName.APPROVER).pk)]),
        LOST,
    ),
    "limited by a first scope of others": (
        lambda _giver: make_scope(make_person("erin"), by=root()),
        lambda _giver: delete_scope(ApproverScope.objects.get().pk, by=root(), via=Door.DASHBOARD),
        LOST,
    ),
    "limited by a first scope with a limit": (
        lambda giver: make_scope(giver, by=root(), limit=200),
        lambda _giver: delete_scope(ApproverScope.objects.get().pk, by=root(), via=Door.DASHBOARD),
        LOST,
    ),
}
#: The same of a giver with a scope to 1,000, through the team Finance.
IN_A_TEAM: dict[str, tuple[Callable[[User], object], Callable[[User], object], str]] = {
    "team": (change, lambda giver: change(giver, teams=("Finance",)), LOST),
    "team removed": (
        lambda _giver: remove_team(Team.objects.get(name="Finance").pk, by=root()),
        lambda giver: let_scope_say(people=[giver]),
        LOST,
    ),
    "lower limit": (lambda _giver: limit_to(500), lambda _giver: limit_to(1_000), LOST),
    "lower limit than what was asked": (lambda _giver: limit_to(1), lambda _giver: limit_to(None), LOST),
    "sees only": (
        lambda _giver: let_scope_say(may="see"),
        lambda _giver: let_scope_say(may="decide"),
        LOST,
    ),
    "other tool": (
        lambda _giver: let_scope_say(match={"tools": ["payroll"]}),
        lambda _giver: let_scope_say(match={}),
        LOST,
    ),
    "scope deleted": (
        lambda _giver: delete_scope(ApproverScope.objects.get(name="Scope 1").pk, by=root(), via=Door.DASHBOARD),
        lambda giver: store_scope(None, ScopeTerms(name="Scope 1", people=[giver]), by=root(), via=Door.DASHBOARD),
        LOST,
    ),
}


@pytest.mark.parametrize("name", ANYWAY)
def test_a_grant_does_not_come_back_with_its_giver(name, giver):
    lose, regain, why = ANYWAY[name]
    never_again(giver, lose, regain, why)


@pytest.mark.parametrize("name", IN_A_TEAM)
def test_a_grant_does_not_come_back_with_the_scope_of_its_giver(name, giver):
    team = make_team("Finance", giver)
    make_scope(team, by=root(), limit=1_000)
    make_scope(make_person("erin"), by=root())
    lose, regain, why = IN_A_TEAM[name]
    never_again(again(giver), lose, regain, why)


def never_again(giver: User, lose: Callable[[User], object], regain: Callable[[User], object], why: str) -> None:
    asker = alice()
    given = give(giver, asker, terms(Width.TOOL))
    assert ask(asker).status == "approved"
    lose(again(giver))
    given.refresh_from_db()
    assert given.ended_why == why
    regain(again(giver))
    assert ask(asker).status == "pending"
    end_due_grants()
    assert [entry.data["why"] for entry in AuditEntry.objects.filter(event="grant.ended")] == [why]


@pytest.mark.parametrize("name", ["more", "same", "others", "new team"])
def test_a_grant_stays_while_its_giver_may_decide_as_much_as_before(name, giver):
    team = make_team("Finance", giver)
    make_team("Chess")
    make_scope(team, by=root(), limit=1_000)
    given = give(again(giver), alice(), terms(Width.TOOL))
    other = make_person("erin", "decide_approvalrequest")
    {
        "more": lambda: limit_to(None),
        "same": lambda: let_scope_say(people=[giver]),
        "others": lambda: set_active(other.pk, active=False, by=root()),
        "new team": lambda: change(giver, teams=("Finance", "Chess")),
    }[name]()
    given.refresh_from_db()
    assert given.ended_at is None


def test_a_delegation_does_not_keep_the_grant_of_someone_who_lost_the_scope(giver):
    absent = make_person("hal", "decide_approvalrequest")
    make_scope(absent, by=root())
    own = make_scope(giver, by=root())
    asker = alice()
    given = give(again(giver), asker, terms(Width.TOOL))
    away(absent, giver)
    delete_scope(own.pk, by=root(), via=Door.DASHBOARD)
    assert Grant.objects.get(pk=given.pk).ended_why == LOST
    assert ask(asker).status == "pending"


def test_a_grant_covers_no_request_that_its_giver_may_decide_for_someone_else_only(giver):
    absent = make_person("hal", "decide_approvalrequest")
    make_scope(absent, by=root())
    make_scope(giver, by=root(), limit=200)
    asker = alice()
    give(again(giver), asker, terms(Width.TOOL))
    away(absent, giver)
    assert [ask(asker, {"amount": amount}).status for amount in (150, 900)] == ["approved", "pending"]


def test_the_right_of_a_team_that_is_taken_from_the_team_ends_the_grants_of_its_members(giver):
    giver.groups.clear()
    team = make_team("Deciders", giver)
    right = Permission.objects.get(codename="decide_approvalrequest")
    team.permissions.add(right)
    given = give(again(giver), alice(), terms(Width.TOOL))
    client, address = browser(root()), f"/admin/auth/group/{team.pk}/change/"
    assert client.post(address, {"name": "Deciders", "permissions": []}).status_code == 302
    assert client.post(address, {"name": "Deciders", "permissions": [str(right.pk)]}).status_code == 302
    given.refresh_from_db()
    assert (given.ended_why, again(giver).has_perm("approvals.decide_approvalrequest")) == (LOST, True)
