"""Only those on duty are notified of requests of their team, and delegates in place of absent people; if in doubt, everyone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.core import mail
from django.utils import timezone

from approvals.actions.policy.duty.on_call import due_calendars, read_due_calendars, set_on_duty
from approvals.administration.absence.actions import store_team_settings
from approvals.db.canonical_json import utc
from approvals.exceptions import Conflict, Invalid, NotAllowed
from approvals.models import AuditEntry, TeamSettings
from approvals.models.subscriptions import LastNotice
from approvals.states import Door
from tests.support.desk.away import away
from tests.support.desk.carrying import carry, sent, tell, with_address
from tests.support.desk.pressing import browser
from tests.support.desk.requests import PAST, make_request
from tests.support.machine import Machine
from tests.support.people import alice, bob, make_person
from tests.support.receiver import Receiver, answer

pytestmark = pytest.mark.django_db(transaction=True)

DECIDER = "decide_approvalrequest"
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _private(settings):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True


@pytest.fixture
def team() -> Group:
    """Bob and Erin, notified of every request."""
    group = Group.objects.create(name="support")
    group.user_set.set([with_address(bob()), with_address(make_person("erin", DECIDER))])
    tell(group)
    return group


def admin() -> User:
    return make_person("adam", "administer")


def told() -> list[str]:
    """Return the usernames notified of a new request."""
    mail.outbox.clear()
    LastNotice.objects.all().delete()
    make_request(User.objects.filter(username="alice").first() or alice())
    carry()
    return sorted(to.partition("@")[0] for (to,), _subject in sent())


def settle(team: Group, url: str) -> None:
    fields = {"default_delegate": None, "time_zone": "", "working_hours": "", "duty_url": url}
    store_team_settings(team.pk, fields, by=admin(), via=Door.DASHBOARD)
    TeamSettings.objects.update(duty_due_at=PAST)


def test_without_a_word_on_duty_everyone_is_notified(team):
    assert told() == ["bob", "erin"]


def test_only_those_whom_a_program_has_set_are_notified_until_it_ends(team):
    machine = Machine(admin())
    until = utc(timezone.now() + HOUR)
    reply = machine.post("/on-duty", {"team": "support", "people": ["bob"], "until": until})
    assert (reply.status, reply.body) == (200, {"team": "support", "people": ["bob"], "until": until})
    assert told() == ["bob"]
    assert AuditEntry.objects.get(event="duty.set").data["people"] == ["bob"]
    row = TeamSettings.objects.get()
    row.duty[0]["until"] = utc(timezone.now() - HOUR)
    row.save()
    assert told() == ["bob", "erin"]


def test_others_may_still_decide(team):
    set_on_duty("support", [User.objects.get(username="bob")], timezone.now() + HOUR, by=admin(), via=Door.REST)
    request = make_request(alice())
    assert "Approve" in browser(User.objects.get(username="erin")).get(request.get_absolute_url()).text


def test_what_cannot_be_set_is_refused_in_words(team):
    person, soon = User.objects.get(username="bob"), timezone.now() + HOUR
    with pytest.raises(NotAllowed):
        set_on_duty("support", [person], soon, by=person, via=Door.REST)
    adam = admin()
    with pytest.raises(Invalid) as refusal:
        set_on_duty("support", [adam], timezone.now() - HOUR, by=adam, via=Door.REST)
    assert sorted(refusal.value.errors) == ["people", "until"]
    machine = Machine(adam)
    body = {"team": "support", "people": ["bob"], "until": utc(soon)}
    assert machine.post("/on-duty", body | {"team": "nobody"}).refusal == (404, "not_found")
    assert machine.post("/on-duty", body | {"people": ["mallory"]}).refusal == (422, "invalid")
    assert Machine(person).post("/on-duty", body).refusal == (403, "not_allowed")
    TeamSettings.objects.update_or_create(team=team, defaults={"duty_url": "https://calendar.example.org/"})
    with pytest.raises(Conflict):
        set_on_duty("support", [person], soon, by=adam, via=Door.REST)


def test_a_calendar_that_cannot_be_read_is_said_and_everyone_is_notified(team):
    with Receiver(lambda got: answer(503), serves=True) as there:
        settle(team, there.url("/duty.ics"))
        read_due_calendars()
        read_due_calendars()
        assert len(there.got) == 1
    row = TeamSettings.objects.get()
    assert (row.duty_error, due_calendars(timezone.now()).exists()) == ("answered 503", False)
    entry = AuditEntry.objects.get(event="duty.unreadable")
    assert (entry.data["team"], entry.data["error_text"], entry.data["read_at"]) == ("support", "answered 503", None)
    assert told() == ["bob", "erin"]
    page = browser(User.objects.get(username="adam")).get(f"/settings/teams/{team.pk}/settings/").text
    assert ("The calendar has not been read yet" in page, "answered 503" in page) == (True, True)


def test_a_stale_calendar_counts_no_more(team):
    now = timezone.now()
    duty = [
        {
            "person": team.user_set.get(username="bob").pk,
            "name": "bob",
            "from": utc(now - HOUR),
            "until": utc(now + HOUR),
        }
    ]
    row = TeamSettings.objects.create(team=team, duty_url="https://c.example.org/", duty=duty, duty_read_at=now - HOUR)
    assert told() == ["bob"]
    row.duty_read_at = now - 25 * HOUR
    row.save()
    assert told() == ["bob", "erin"]


def test_another_address_forgets_what_was_said(team):
    set_on_duty(
        "support", [User.objects.get(username="bob")], timezone.now() + HOUR, by=admin_or_known(), via=Door.REST
    )
    fields = {
        "default_delegate": None,
        "time_zone": "",
        "working_hours": "",
        "duty_url": "https://c.example.org/secret",
    }
    store_team_settings(team.pk, fields, by=admin_or_known(), via=Door.DASHBOARD)
    row = TeamSettings.objects.get()
    assert (row.duty, row.duty_read_at, row.duty_due_at is not None) == ([], None, True)
    assert "secret" not in AuditEntry.objects.get(event="team.changed").body


def admin_or_known() -> User:
    return User.objects.filter(username="adam").first() or admin()


def test_the_delegate_is_notified_in_place_of_who_is_away(team):
    dave = with_address(make_person("dave", DECIDER))
    away(User.objects.get(username="bob"), dave)
    assert told() == ["dave", "erin"]


def test_who_is_away_without_a_delegate_is_not_notified_unless_no_one_were(team):
    away(User.objects.get(username="bob"))
    assert told() == ["erin"]
    away(User.objects.get(username="erin"))
    assert told() == ["bob", "erin"]


def test_a_delegate_who_may_not_see_the_request_leaves_no_one_untold(team):
    stranger = with_address(make_person("mallory"))
    for name in ("bob", "erin"):
        away(User.objects.get(username=name), stranger)
    assert told() == ["bob", "erin"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"working_hours": "9-5"}, "“9-5” is not like “Mon-Fri 09:00-17:00”."),
        ({"time_zone": "Mars/Base"}, "Select a valid choice."),
        ({"default_delegate": "nobody"}, "No active person has this username."),
        ({"duty_url": "ftp://example.org"}, "The address"),
    ],
)
def test_bad_settings_of_a_team_are_shown_again_with_words(team, fields, words):
    page = browser(admin()).post(f"/settings/teams/{team.pk}/settings/", fields)
    assert (page.status_code, words in page.text, TeamSettings.objects.count()) == (422, True, 0)


def test_settings_of_a_team_are_stored_and_on_record(team):
    client = browser(admin())
    fields = {"working_hours": "Mon-Fri  09:00-17:00", "time_zone": "Europe/Berlin", "default_delegate": "bob"}
    assert client.post(f"/settings/teams/{team.pk}/settings/", fields).status_code == 302
    row = TeamSettings.objects.get()
    assert (row.working_hours, row.time_zone, row.default_delegate.username) == (
        "Mon-Fri 09:00-17:00",
        "Europe/Berlin",
        "bob",
    )
    assert AuditEntry.objects.get(event="team.changed").data["after"]["working_hours"] == "Mon-Fri 09:00-17:00"
    assert browser(bob_again()).get(f"/settings/teams/{team.pk}/settings/").status_code == 404


def bob_again() -> User:
    return User.objects.get(username="bob")
