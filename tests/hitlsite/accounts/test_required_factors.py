"""Roles that need a second factor: what people, keys and pages without one get, and who can reset one."""

from __future__ import annotations

from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator as Factor
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from approvals.access.sessions import user_of
from approvals.administration.people.actions import add_person, create_roles
from approvals.models import AuditEntry, PendingChange
from tests.approvals.administration.people.test_people import administrator
from tests.approvals.administration.people.test_second_administrator import mails, press
from tests.support import people
from tests.support.desk.pressing import browser
from tests.support.machine import Machine
from tests.support.markup import parse

pytestmark = pytest.mark.django_db

PAGE = "/settings/sign-in/"


@pytest.fixture
def erin(settings) -> User:
    """An approver, whose role needs a factor."""
    settings.SECOND_FACTOR_ROLES = ["approver"]
    create_roles()
    root = User.objects.create_superuser("root")
    return add_person(username="erin", email="erin@example.org", roles=["approver"], by=root)


def give_factor(person: User) -> None:
    Factor.objects.create(user=person, type="totp", data={"secret": ""})


def logged_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def banner(client: Client) -> list[str]:
    return [each.words for each in parse(client.get("/workflows/").text).find("p", class_="note")]


def test_without_a_factor_every_page_leads_to_the_one_that_sets_it_up(erin):
    client = logged_in(erin)
    for address in ("/", "/workflows/", "/settings/", "/audit/", "/chats/"):
        assert client.get(address).headers["Location"] == PAGE
    swapped = client.get("/", headers={"HX-Request": "true"})
    assert (swapped.status_code, swapped.headers["HX-Redirect"]) == (403, PAGE)
    assert client.post("/settings/theme/", {"theme": "dark"}).headers["Location"] == PAGE
    page = client.get(PAGE)
    assert (page.status_code, "Your role needs a second factor." in page.text) == (200, True)
    assert client.post("/logout/").headers["Location"] == "/login/"


def test_a_factor_or_another_role_opens_them(erin):
    assert logged_in(people.alice()).get("/").status_code == 200
    give_factor(erin)
    assert logged_in(erin).get("/").status_code == 200


def test_recovery_codes_alone_are_no_factor(erin):
    Factor.objects.create(user=erin, type="recovery_codes", data={})
    assert logged_in(erin).get("/").headers["Location"] == PAGE


def test_until_the_day_people_are_only_told(erin, settings):
    settings.SECOND_FACTOR_FROM = timezone.localdate() + timedelta(days=1)
    client = logged_in(erin)
    assert [line.split(" from ")[0] for line in banner(client)] == ["Your role needs a second factor"]
    assert banner(logged_in(people.alice())) == []
    settings.SECOND_FACTOR_FROM = timezone.localdate()
    assert client.get("/workflows/").headers["Location"] == PAGE


def test_the_role_of_an_administrator_includes_superusers(settings):
    settings.SECOND_FACTOR_ROLES = ["administrator"]
    client = logged_in(User.objects.create_superuser("root"))
    assert client.get("/admin/").headers["Location"] == PAGE


def test_keys_and_live_pages_of_someone_without_a_factor_are_refused_in_words(erin, settings):
    key = Machine(erin)
    client = logged_in(erin)
    refused = key.get("/requests")
    assert (refused.status, refused.body["code"]) == (403, "second_factor_missing")
    assert refused.body["detail"].startswith("The role of this user needs a second factor.")
    by_session = client.get("/api/v1/requests")
    assert (by_session.status_code, by_session.json()["code"]) == (403, "second_factor_missing")
    assert user_of(client.session.session_key) is None
    give_factor(erin)
    assert [key.get("/requests").status, client.get("/api/v1/requests").status_code] == [200, 200]
    assert user_of(client.session.session_key) == erin


@pytest.mark.django_db(transaction=True)
def test_the_factors_of_someone_who_decides_are_reset_by_two(settings, mailoutbox):
    settings.HITL_MAIL = True
    dora, ewa, bob = administrator(), administrator("ewa"), people.bob()
    User.objects.filter(pk=bob.pk).update(email="bob@example.org")
    give_factor(bob)
    theirs = logged_in(bob)
    page = browser(dora).get(f"/settings/people/{bob.pk}/")
    assert "Remove second factors" in page.text
    browser(dora).post(f"/settings/people/{bob.pk}/factors/")
    assert (Factor.objects.count(), PendingChange.objects.get().kind) == (1, "factors")
    assert (press(dora, "confirm")[0], Factor.objects.count()) == (403, 1)
    assert (press(ewa, "confirm")[0], Factor.objects.count()) == (302, 0)
    assert theirs.get("/").status_code in {200, 302}
    assert mails() == [
        ("bob@example.org", "dora requested to remove all second factors of your account."),
        ("bob@example.org", "ewa removed all second factors of your account, and ended your sessions."),
    ]
    entry = AuditEntry.objects.filter(event="person.changed").last()
    assert (entry.actor_name, entry.data["change"], entry.data["of"]) == ("ewa", "confirmed", "factors")


def test_someone_who_decides_nothing_is_reset_by_one_and_nobody_resets_their_own():
    dora, alice = administrator(), people.alice()
    give_factor(alice)
    give_factor(dora)
    browser(dora).post(f"/settings/people/{alice.pk}/factors/")
    assert browser(dora).post(f"/settings/people/{dora.pk}/factors/").status_code == 403
    assert [factor.user for factor in Factor.objects.all()] == [dora]
    assert AuditEntry.objects.filter(event="person.changed").last().data["change"] == "factors"


def test_the_system_page_counts_who_needs_one(erin):
    client = logged_in(User.objects.get(username="root"))
    words = parse(client.get("/settings/system/").text).find("ul", class_="system-lines")[0].words
    assert "Needed by these roles: Approver 1 person has none yet." in words
    give_factor(erin)
    words = parse(client.get("/settings/system/").text).find("ul", class_="system-lines")[0].words
    assert "has none yet" not in words


def test_others_do_not_reset_anything():
    alice = people.alice()
    give_factor(alice)
    assert logged_in(people.bob()).post(f"/settings/people/{alice.pk}/factors/").status_code == 404
    assert Factor.objects.count() == 1
