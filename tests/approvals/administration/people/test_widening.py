"""An administrator with the right to decide can't widen it: not by a team, and not through their absent principal."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from approvals.administration.scopes.actions import delete_scope, store_scope, terms_of
from approvals.exceptions import NotAllowed
from approvals.states import Door
from tests.support.desk.away import away
from tests.support.desk.ruling import apply_policy
from tests.support.desk.scopes import again, make_scope
from tests.support.people import bob, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def hal() -> User:
    return make_person("hal", "administer", "decide_approvalrequest")


@pytest.fixture
def team() -> Group:
    return Group.objects.create(name="payments")


def join(by: User, person: User, team: Group) -> str:
    """Add someone to a team on their page; return the resulting message."""
    browser = Client()
    browser.force_login(by)
    page = browser.post(f"/settings/people/{person.pk}/", {"email": "", "teams": [str(team.pk)]}, follow=True)
    return page.content.decode()


@pytest.mark.parametrize(("one_is_enough", "joined"), [(False, False), (True, True)])
def test_who_decides_joins_no_team_that_the_policy_names_where_it_needs_two(settings, hal, team, one_is_enough, joined):
    apply_policy({"name": "All", "then": "ask", "ask": {"stages": [{"groups": [{"teams": ["payments"]}]}]}})
    settings.HITL_ONE_ADMINISTRATOR = one_is_enough
    said = "You cannot join a team that the policy names." in join(hal, hal, team)
    assert (hal.groups.filter(pk=team.pk).exists(), said) == (joined, not joined)


def test_who_decides_for_someone_does_not_add_them_to_a_team_that_a_scope_names(hal, team):
    make_scope(team, by=User.objects.create_superuser("root"))
    absent = bob()
    away(absent, hal)
    assert "You are currently deciding for bob." in join(hal, absent, team)
    assert not absent.groups.exists()


def test_who_decides_for_someone_does_not_change_their_scopes(hal):
    absent = bob()
    scope = make_scope(absent, by=User.objects.create_superuser("root"), limit=100)
    make_scope(make_person("carol", "view_approvalrequest"), by=User.objects.get(username="root"))
    away(absent, hal)
    for change in (
        lambda: store_scope(scope.pk, terms_of(scope), by=again(hal), via=Door.DASHBOARD),
        lambda: store_scope(None, terms_of(scope), by=again(hal), via=Door.DASHBOARD),
        lambda: delete_scope(scope.pk, by=again(hal), via=Door.DASHBOARD),
    ):
        with pytest.raises(NotAllowed, match="You cannot change scopes of bob while you decide for them"):
            change()
