"""Sessions end some hours after the log-in, and after some minutes without use."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from approvals.access.sessions import STORED_EVERY
from approvals.actions.logins import end_idle_sessions
from approvals.models.people import PersonSession
from tests.support import people

pytestmark = pytest.mark.django_db


def log_in(client: Client) -> None:
    client.post("/login/", {"username": "alice", "password": people.PASSWORD})


def is_logged_in(client: Client) -> bool:
    return client.get("/workflows/").status_code == 200


def test_a_session_ends_some_hours_after_the_log_in_however_often_it_is_stored(client, settings):
    settings.SESSION_HOURS = 8
    people.alice()
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


@pytest.mark.parametrize(("minutes", "lasts"), [(30, False), (60, True), (0, True)])
def test_a_session_ends_after_some_minutes_without_use(client, settings, minutes, lasts):
    settings.SESSION_IDLE_MINUTES = minutes
    people.alice()
    log_in(client)
    at = timezone.now() - timedelta(minutes=30, seconds=2 * STORED_EVERY + 1)
    PersonSession.objects.update(started_at=at - timedelta(days=1), last_active_at=at)
    end_idle_sessions()
    assert is_logged_in(client) is lasts


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
