"""Sessions end some hours after the log-in, and after some minutes without use."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from approvals.access.sessions import STORED_EVERY
from approvals.actions.logins import end_old_sessions
from approvals.administration.people.actions import create_roles
from approvals.models.people import PersonSession
from tests.support import people
from tests.support.markup import parse

pytestmark = pytest.mark.django_db


def log_in(client: Client) -> None:
    client.post("/login/", {"username": "alice", "password": people.PASSWORD})


def is_logged_in(client: Client) -> bool:
    return client.get("/workflows/").status_code == 200


def give(person: User, *names: str) -> None:
    create_roles()
    person.groups.set(Group.objects.filter(role__name__in=names))


@pytest.mark.parametrize(
    ("hours", "roles", "lasts"),
    [
        ({"": 8}, [], False),
        ({"": 10}, [], True),
        ({"": 336, "administrator": 8}, ["administrator"], False),
        ({"": 336, "administrator": 8}, ["approver"], True),
        ({"": 336, "administrator": 12, "approver": 8}, ["administrator", "approver"], False),
        ({"": 8, "administrator": 12}, ["administrator"], False),
    ],
)
def test_a_session_ends_some_hours_after_the_log_in_however_much_it_is_used(client, settings, hours, roles, lasts):
    settings.SESSION_HOURS = hours
    alice = people.alice()
    give(alice, *roles)
    log_in(client)
    now = timezone.now()
    PersonSession.objects.update(started_at=now - timedelta(hours=9), last_active_at=now)
    end_old_sessions()
    assert is_logged_in(client) is lasts


def test_the_session_itself_ends_by_the_strictest_limit_however_often_it_is_stored(client, settings):
    """Even if no process ends old sessions."""
    settings.SESSION_HOURS = {"": 336, "approver": 8}
    give(people.alice(), "approver")
    log_in(client)
    session = client.session
    ends = session.get_expiry_date()
    assert abs(ends - timezone.now() - timedelta(hours=8)) < timedelta(minutes=1)
    session["more"] = True
    session.save()
    assert client.session.get_expiry_date() == ends
    session.set_expiry(timezone.now() - timedelta(seconds=1))
    session.save()
    assert not is_logged_in(client)


@pytest.mark.parametrize(
    ("minutes", "roles", "lasts"),
    [
        ({"": 30}, [], False),
        ({"": 60}, [], True),
        ({"": 0}, [], True),
        ({"": 0, "auditor": 30}, ["auditor"], False),
        ({"": 30, "auditor": 0}, ["auditor"], False),
        ({"": 0, "auditor": 30}, ["requester"], True),
    ],
)
def test_a_session_ends_after_some_minutes_without_use(client, settings, minutes, roles, lasts):
    settings.SESSION_IDLE_MINUTES = minutes
    give(people.alice(), *roles)
    log_in(client)
    at = timezone.now() - timedelta(minutes=30, seconds=2 * STORED_EVERY + 1)
    PersonSession.objects.update(started_at=at - timedelta(days=1), last_active_at=at)
    end_old_sessions()
    assert is_logged_in(client) is lasts


def test_a_role_that_is_given_later_limits_the_sessions_of_before_and_superusers_are_administrators(client, settings):
    settings.SESSION_HOURS = {"": 336, "administrator": 8}
    alice = people.alice()
    log_in(client)
    PersonSession.objects.update(started_at=timezone.now() - timedelta(hours=9))
    end_old_sessions()
    assert is_logged_in(client)
    User.objects.filter(pk=alice.pk).update(is_superuser=True)
    end_old_sessions()
    assert not is_logged_in(client)


@pytest.mark.parametrize(
    ("minutes", "roles", "words"),
    [
        ({"": 0}, [], "A session ends 12 hours after its log-in."),
        ({"": 0, "auditor": 30}, ["auditor", "approver"], "A session ends 1 hour after its log-in. "
         "It also ends after 30 minutes without use."),
    ],
)  # fmt: skip
def test_the_page_of_sessions_shows_the_strictest_limits_of_the_person(client, settings, minutes, roles, words):
    settings.SESSION_HOURS = {"": 12, "auditor": 1, "approver": 4}
    settings.SESSION_IDLE_MINUTES = minutes
    give(people.alice(), *roles)
    log_in(client)
    hint = parse(client.get("/settings/sessions/").text).find("main")[0].find("p", class_="hint")[0].words
    assert hint.endswith(f"and change your password. {words}")


@pytest.fixture
def administration(settings) -> None:
    settings.HITL_FRESH_SIGN_IN_FOR = ["administration"]


def test_administration_can_need_a_fresh_log_in_and_keeps_no_form(client, administration):
    User.objects.create_superuser("root", password=people.PASSWORD)
    client.post("/login/", {"username": "root", "password": people.PASSWORD})
    assert client.get("/settings/people/?q=a").status_code == 200
    session = client.session
    session["account_authentication_methods"] = [{"method": "password", "at": 0}]
    session.save()
    again = client.get("/settings/people/?q=a").headers["Location"]
    assert again == "/login/again/?next=%2Fsettings%2Fpeople%2F%3Fq%3Da"
    refused = client.post("/settings/teams/", {"name": "Finance"})
    assert (refused.status_code, "Nothing was changed." in refused.text) == (403, True)
    answer = client.post("/login/again/", {"password": people.PASSWORD, "next": "/settings/people/?q=a"})
    assert answer.headers["Location"] == "/settings/people/?q=a"
    assert (client.get("/settings/people/?q=a").status_code, "Finance" in client.get("/settings/people/").text) == (
        200,
        False,
    )
