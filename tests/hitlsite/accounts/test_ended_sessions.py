"""Sessions end when a right, a password or a factor is taken away: at once, with their pages, and in words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.tokens import default_token_generator
from django.test import Client
from django.utils.http import int_to_base36

from approvals import actions
from approvals.administration.people.actions import (
    change_person,
    create_roles,
    follow_groups,
    reset_factors,
    set_active,
)
from approvals.administration.people.actions.roles import add_rights, give_roles
from approvals.asking.answers import Answer
from approvals.db.pool import run
from approvals.exceptions import NotAuthenticated
from approvals.models import ApproverScope, GroupMapping, Role
from approvals.models.actors import SessionActor
from approvals.models.people import PersonSession
from approvals.pages import consumers
from approvals.states import Door, Verdict
from tests.approvals.administration.people.test_people import administrator
from tests.hitlsite.accounts.test_factors import add_app
from tests.hitlsite.accounts.test_passwords import CHANGE
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decisions, make_request
from tests.support.desk.scopes import make_scope
from tests.support.desk.votes import make_team
from tests.support.lines import line
from tests.support.markup import parse
from tests.support.people import PASSWORD, alice

RIGHTS = "You were logged out because a role or right was taken from your account. Log in again."
DEACTIVATED = "You were logged out because your account was deactivated."
NEW_PASSWORD = "You were logged out because the password of your account was changed. Log in again."
FACTORS = "You were logged out because a second factor of your account was added or removed. Log in again."


def erin() -> User:
    """An approver with an additional right, in a team that gives one and in one that gives none."""
    create_roles()
    person = User.objects.create_user("erin", password=PASSWORD)
    give_roles(person, ["approver"])
    add_rights(person, ["reveal_secrets"])
    audits = make_team("Audits", person)
    audits.permissions.add(Permission.objects.get(codename="view_auditentry"))
    make_team("Finance", person)
    return person


def log_in(person: User) -> Client:
    client = Client()
    client.post("/login/", {"username": person.username, "password": PASSWORD})
    return client


def root() -> User:
    return User.objects.create_superuser("root", password=PASSWORD)


def change(person: User, roles: list[str], rights: list[str], teams: list[str], by: User) -> None:
    ids = Group.objects.filter(name__in=teams).values_list("pk", flat=True)
    change_person(person.pk, email="", roles=roles, rights=rights, team_ids=list(ids), by=by)


TEAMS = ["Audits", "Finance"]


def take_role(person: User) -> None:
    change(person, [], ["reveal_secrets"], TEAMS, by=administrator())


def take_right(person: User) -> None:
    change(person, ["approver"], [], TEAMS, by=administrator())


def take_team_with_a_right(person: User) -> None:
    change(person, ["approver"], ["reveal_secrets"], ["Finance"], by=root())


def take_role_by_groups(person: User) -> None:
    provider = "https://login.example.org"
    GroupMapping.objects.create(issuer=provider, value="approvers", group=Role.objects.get(name="approver").group)
    follow_groups(person, [], provider=provider)


def take_right_of_a_team_in_the_admin(person: User) -> None:
    team = Group.objects.get(name="Audits")
    log_in(root()).post(f"/admin/auth/group/{team.pk}/change/", {"name": "Audits", "permissions": []})
    assert not team.permissions.exists()


def deactivate(person: User) -> None:
    set_active(person.pk, active=False, by=administrator())


def change_own_password(person: User) -> None:
    assert log_in(person).post("/password/", CHANGE).status_code == 302


def change_password_in_the_admin(person: User) -> None:
    new = {"usable_password": "true", "password1": CHANGE["password1"], "password2": CHANGE["password2"]}
    assert log_in(root()).post(f"/admin/auth/user/{person.pk}/password/", new).status_code == 302


def set_password_with_a_link(person: User) -> None:
    client = Client()
    person.refresh_from_db()
    link = f"/password/reset/{int_to_base36(person.pk)}/{default_token_generator.make_token(person)}/"
    new = {"password1": CHANGE["password1"], "password2": CHANGE["password2"]}
    assert client.post(client.get(link).headers["Location"], new).status_code == 302


def add_a_factor(person: User) -> None:
    add_app(log_in(person))


def reset_by_an_administrator(person: User) -> None:
    Authenticator.objects.create(user=person, type="totp", data={"secret": ""})
    reset_factors(person.pk, by=root())


def give_more(person: User) -> None:
    change(person, ["approver", "auditor"], ["reveal_secrets"], TEAMS, by=root())


def leave_a_team_without_rights(person: User) -> None:
    change(person, ["approver"], ["reveal_secrets"], ["Audits"], by=root())


def take_a_right_that_they_keep_through_a_role(person: User) -> None:
    person.user_permissions.add(Permission.objects.get(codename="view_approvalrequest"))
    change(person, ["approver"], ["reveal_secrets"], TEAMS, by=administrator())


def limit_by_a_scope(person: User) -> None:
    make_scope(person, by=root(), tools=["refund"])
    assert ApproverScope.objects.exists()


ENDS: list[tuple[Callable[[User], None], str]] = [
    (take_role, RIGHTS),
    (take_right, RIGHTS),
    (take_team_with_a_right, RIGHTS),
    (take_role_by_groups, RIGHTS),
    (take_right_of_a_team_in_the_admin, RIGHTS),
    (deactivate, DEACTIVATED),
    (change_own_password, NEW_PASSWORD),
    (change_password_in_the_admin, NEW_PASSWORD),
    (set_password_with_a_link, NEW_PASSWORD),
    (add_a_factor, FACTORS),
    (reset_by_an_administrator, FACTORS),
]
GOES_ON = [give_more, leave_a_team_without_rights, take_a_right_that_they_keep_through_a_role, limit_by_a_scope]


def notes(page: str) -> list[str]:
    return [each.words for each in parse(page).find("p", class_="note")]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("take", "words"), ENDS, ids=[each.__name__ for each, _words in ENDS])
def test_a_session_ends_and_the_next_page_says_why_once(take, words):
    person = erin()
    theirs = log_in(person)
    assert theirs.get("/workflows/").status_code == 200
    take(person)
    told = theirs.get("/workflows/", follow=True)
    assert (told.redirect_chain, notes(told.text)) == ([("/login/?next=/workflows/", 302)], [words])
    assert notes(theirs.get("/workflows/", follow=True).text) == []


@pytest.mark.django_db
@pytest.mark.parametrize("do", GOES_ON, ids=lambda each: each.__name__)
def test_a_session_goes_on_as_long_as_no_right_is_lost(do):
    person = erin()
    theirs = log_in(person)
    do(person)
    assert theirs.get("/workflows/").status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("cookie", ["", "invented", "x" * 5000, 'a"b', "é"])
def test_a_session_that_never_was_is_told_nothing(cookie):
    client = Client()
    client.cookies["sessionid"] = cookie
    assert notes(client.get("/workflows/", follow=True).text) == []


@pytest.mark.django_db
def test_a_right_that_is_taken_while_a_decision_is_on_its_way_stops_it():
    person, request = erin(), make_request(alice())
    theirs = log_in(person)
    actor = SessionActor(User.objects.get(pk=person.pk), theirs.session.session_key or "")
    take_right(person)
    with pytest.raises(NotAuthenticated, match="Nothing was changed"):
        actions.decide(request.pk, Answer(Verdict.APPROVE), by=actor, via=Door.DASHBOARD)
    assert decisions(request) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("take", [take_right, change_password_in_the_admin], ids=lambda each: each.__name__)
async def test_open_live_pages_are_closed_at_once(take):
    person = await run(erin)
    theirs = await run(log_in, person)
    cookie = f"sessionid={await run(lambda: theirs.session.session_key)}"
    async with line("/ws/desk/", person, cookie=cookie) as page:
        await run(take, person)
        assert await page.closed_with() == consumers.LOGGED_OUT


@pytest.mark.django_db
def test_whoever_takes_it_stays_logged_in():
    person, dora = erin(), administrator()
    theirs = browser(dora)
    teams = list(person.groups.filter(role=None).values_list("pk", flat=True))
    taken = {"email": "", "roles": ["requester"], "rights": ["reveal_secrets"], "teams": teams}
    assert theirs.post(f"/settings/people/{person.pk}/", taken).status_code == 302
    assert theirs.get("/settings/people/").status_code == 200


@pytest.mark.django_db
def test_a_superuser_who_changes_their_own_password_in_the_admin_keeps_a_session_that_can_be_ended():
    person = root()
    theirs, other = log_in(person), log_in(person)
    new = {"usable_password": "true", "password1": CHANGE["password1"], "password2": CHANGE["password2"]}
    assert theirs.post(f"/admin/auth/user/{person.pk}/password/", new).status_code == 302
    assert [client.get("/workflows/").status_code for client in (theirs, other)] == [200, 302]
    (session,) = PersonSession.objects.filter(person=person)
    assert session.session_key == theirs.session.session_key
