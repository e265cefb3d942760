"""Personal preferences: theme and display, notifications, quiet hours and sessions."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.access import sessions
from approvals.actions.logins import store_activity
from approvals.models import Preferences
from approvals.models.people import PersonSession
from tests.support.desk.pressing import HTMX, browser
from tests.support.markup import parse
from tests.support.people import PASSWORD, alice, bob

pytestmark = pytest.mark.django_db

DISPLAY = {
    "theme": "dark",
    "density": "compact",
    "split": "",
    "open_next": "on",
    "shortcuts": "on",
    "hold_seconds": "7",
}
QUIET = {"quiet_from": "22:00", "quiet_until": "07:30"}


def look(page: str) -> tuple[str, str]:
    root = parse(page).find("html")[0].attributes
    return root["data-theme"], root["data-density"]


def log_in(name: str, **headers: str) -> Client:
    client = Client()
    sent = client.post("/login/", {"username": name, "password": PASSWORD}, headers=headers)
    assert sent.status_code == 302
    return client


def test_theme_and_density_are_on_every_page_of_their_person_only():
    client, other = browser(alice()), browser(bob())
    assert client.post("/settings/display/", DISPLAY).status_code == 302
    assert [look(one.get(path).text) for one in (client, other) for path in ("/", "/chats/", "/nowhere/")] == [
        ("dark", "compact")
    ] * 3 + [("system", "comfortable")] * 3
    assert look(Client().get("/login/").text) == ("system", "comfortable")
    stored = Preferences.objects.get()
    assert (stored.split, stored.open_next, stored.shortcuts, stored.hold_seconds) == (False, True, True, 7)


@pytest.mark.parametrize("seconds", ["31", "-1", "x", ""])
def test_display_settings_out_of_bounds_are_refused_with_words(seconds):
    client = browser(alice())
    refused = client.post("/settings/display/", DISPLAY | {"hold_seconds": seconds})
    assert (refused.status_code, Preferences.objects.count()) == (422, 0)
    assert len(parse(refused.text).find("p", class_="field-error")) == 1
    assert look(refused.text) == ("system", "comfortable")


def test_the_menu_stores_the_theme_at_once_and_leads_back_without_javascript():
    client = browser(alice())
    assert client.post("/settings/theme/", {"theme": "light"}, headers=HTMX).status_code == 204
    back = client.post("/settings/theme/", {"theme": "dark"}, headers={"Referer": "http://testserver/chats/"})
    assert (back.status_code, back.headers["Location"]) == (302, "http://testserver/chats/")
    away = client.post("/settings/theme/", {"theme": "dark"}, headers={"Referer": "https://evil.example/"})
    assert away.headers["Location"] == "/settings/display/"
    assert client.post("/settings/theme/", {"theme": "neon"}).status_code == 400
    assert Preferences.objects.get().theme == "dark"


def test_notifications_that_are_not_wanted_and_quiet_hours_are_stored():
    client = browser(alice())
    wanted = ["mail:approval", "mail:assigned", "mail:mentioned", "browser:approval", "browser:question", "made:up"]
    assert client.post("/settings/notifications/", QUIET | {"wanted": wanted}).status_code == 302
    stored = Preferences.objects.get()
    assert (str(stored.quiet_from), str(stored.quiet_until)) == ("22:00:00", "07:30:00")
    kinds = ("approval", "question", "form", "recovery")
    devices = [*(f"push:{kind}" for kind in (*kinds, "mentioned")), *(f"card:{kind}" for kind in (*kinds, "assigned"))]
    assert stored.muted == [
        "mail:question", "mail:form", "mail:recovery", "browser:form", "browser:recovery", *devices,
    ]  # fmt: skip
    bell = parse(client.get("/").text).find("button", id="notify")[0].attributes
    assert (bell["data-muted"].split(), bell["data-quiet-from"]) == (stored.muted, "22:00")


@pytest.mark.parametrize("wrong", [{"quiet_until": ""}, {"quiet_from": "25:00"}])
def test_half_of_quiet_hours_and_impossible_times_are_refused(wrong):
    refused = browser(alice()).post("/settings/notifications/", QUIET | wrong)
    assert (refused.status_code, Preferences.objects.count()) == (422, 0)


@pytest.mark.django_db(transaction=True)
def test_a_test_mail_goes_to_oneself_a_few_times_a_minute(settings):
    settings.HITL_MAIL = True
    person = bob()
    client = browser(person)
    assert client.post("/settings/notifications/test/").status_code == 409
    User.objects.filter(pk=person.pk).update(email="bob@example.org")
    codes = [client.post("/settings/notifications/test/").status_code for _ in range(4)]
    assert (codes, [message.to for message in mail.outbox]) == ([302, 302, 302, 429], [["bob@example.org"]] * 3)


def test_people_see_their_own_sessions_and_end_all_but_this_one():
    alice(), bob()
    agent = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"}
    here, there, third = (log_in("alice", **agent) for _ in range(3))
    log_in("bob")
    page = parse(here.get("/settings/sessions/").text)
    assert [one.words for one in page.find("span", class_="row-title")] == ["Firefox on Linux"] * 3
    mine = PersonSession.objects.get(session_key=there.session.session_key)
    assert here.post(f"/settings/sessions/{mine.pk}/end/").status_code == 302
    assert [one.get("/chats/").status_code for one in (here, there, third)] == [200, 302, 200]
    assert here.post("/settings/sessions/end-others/").status_code == 302
    assert [one.get("/chats/").status_code for one in (here, third)] == [200, 302]
    assert PersonSession.objects.filter(person__username="alice").count() == 1


def test_sessions_say_when_they_were_last_active_without_a_write_per_request():
    alice()
    here, there = log_in("alice"), log_in("alice")
    mine = PersonSession.objects.get(session_key=there.session.session_key)
    sessions.take_used()
    there.get("/chats/")
    with CaptureQueriesContext(connection) as found:
        there.get("/chats/")
    assert [query for query in found.captured_queries if "approvals_personsession" in query["sql"]] == []
    used = sessions.take_used()
    assert (list(used), sessions.take_used()) == ([mine.session_key], {})
    store_activity(used)
    mine.refresh_from_db()
    assert mine.last_active_at == used[mine.session_key]
    store_activity({mine.session_key: mine.last_active_at - timedelta(minutes=5), "gone": mine.last_active_at})
    mine.refresh_from_db()
    assert mine.last_active_at == used[mine.session_key]
    shown = [one.words for one in parse(here.get("/settings/sessions/").text).find("p", class_="meta")]
    assert ["last active" in one for one in shown] == [True, False]


def test_nobody_ends_a_session_of_somebody_else():
    alice(), bob()
    victim, mallory = log_in("alice"), log_in("bob")
    theirs = PersonSession.objects.get(session_key=victim.session.session_key)
    assert mallory.post(f"/settings/sessions/{theirs.pk}/end/").status_code == 404
    assert (victim.get("/chats/").status_code, mallory.post("/settings/sessions/0/end/").status_code) == (200, 404)


def test_a_new_password_keeps_this_session_in_the_list():
    alice()
    client, other = log_in("alice"), log_in("alice")
    changed = {"oldpassword": PASSWORD, "password1": "a quite different text", "password2": "a quite different text"}
    assert client.post("/password/", changed).status_code == 302
    badges = parse(client.get("/settings/sessions/").text).find("span", class_="state-completed")
    assert [one.words for one in badges] == ["This session"]
    assert PersonSession.objects.exclude(session_key=client.session.session_key).count() == 0
    assert other.get("/chats/").status_code == 302
