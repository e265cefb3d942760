"""People set their absences and delegates; administrators set those of others; all changes are on record."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.actions import prune_absences
from approvals.actions.policy.absence import Away, end_absence, set_absence
from approvals.db.canonical_json import utc
from approvals.exceptions import Conflict, Invalid, NotAllowed, NotFound
from approvals.models import Absence, AuditEntry, Preferences, TeamSettings
from approvals.states import Door
from tests.approvals.actions.test_races import race
from tests.support.desk.away import away
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.desk.votes import both, group, make_team, make_voted
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db

DECIDER = "decide_approvalrequest"
HOUR = timedelta(hours=1)


def later(hours: float) -> datetime:
    return timezone.now() + hours * HOUR


def put(person: User, by: User | None = None, **fields: object) -> Absence:
    return set_absence(person, Away(**{"until": later(24)} | fields), by=by or person, via=Door.DASHBOARD)


def admin() -> User:
    return make_person("adam", "administer")


def test_an_absence_is_stored_and_on_record():
    person, erin = bob(), make_person("erin", DECIDER)
    absence = put(person, delegate=erin, reason=" On\nvacation. ")
    entry = AuditEntry.objects.get(event="absence.set")
    assert (absence.delegate, absence.reason, absence.set_by_name) == (erin, "On vacation.", "bob")
    assert (entry.actor_name, entry.data["person"], entry.data["delegate"]) == ("bob", "bob", "erin")
    end_absence(absence.pk, by=person, via=Door.DASHBOARD)
    assert (Absence.objects.count(), AuditEntry.objects.filter(event="absence.ended").count()) == (0, 1)


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"until": later(-1)}, {"until": "must be after the start and in the future"}),
        ({"starts_at": later(2), "until": later(1)}, {"until": "must be after the start and in the future"}),
        ({"until": later(24 * 400)}, {"until": "must be within a year"}),
        ({"starts_at": later(-24 * 400)}, {"starts_at": "must be within a year"}),
        ({"reason": "a" * 201}, {"reason": "is longer than 200 characters"}),
    ],
)
def test_what_is_no_absence_is_refused_in_words(fields, errors):
    with pytest.raises(Invalid) as refusal:
        put(bob(), **fields)
    assert refusal.value.errors == errors


def test_a_delegate_is_someone_else_who_may_decide():
    person, adam = bob(), admin()
    adam.user_permissions.add(*person.user_permissions.all())
    adam = User.objects.get(pk=adam.pk)
    problems = {
        "must be someone other than the person who is away": [(person, person)],
        "must be someone other than you": [(adam, adam)],
        "must be someone who may decide requests": [(mallory(), person)],
    }
    for problem, tries in problems.items():
        for delegate, by in tries:
            with pytest.raises(Invalid) as refusal:
                put(person, by, delegate=delegate)
            assert refusal.value.errors == {"delegate": problem}
    assert Absence.objects.count() == 0


def test_only_administrators_set_it_for_others():
    person = bob()
    with pytest.raises(NotAllowed):
        put(person, mallory())
    absence = put(person, admin())
    assert (absence.person, absence.set_by_name) == (person, "adam")
    with pytest.raises(NotFound):
        end_absence(absence.pk, by=User.objects.get(username="mallory"), via=Door.DASHBOARD)
    end_absence(absence.pk, by=person, via=Door.DASHBOARD)


def test_a_delegate_sees_the_absence_and_cannot_end_it():
    erin = make_person("erin", DECIDER)
    absence = put(bob(), delegate=erin)
    with pytest.raises(NotAllowed):
        end_absence(absence.pk, by=erin, via=Door.DASHBOARD)


def test_absences_of_one_person_never_overlap():
    person = bob()
    put(person, starts_at=later(10), until=later(20))
    put(person, starts_at=later(21), until=later(22))
    for start, end in [(1, 11), (12, 13), (19, 30), (1, 30)]:
        with pytest.raises(Conflict):
            put(person, starts_at=later(start), until=later(end))
    put(make_person("erin"), starts_at=later(10), until=later(20))


@pytest.mark.django_db(transaction=True)
def test_not_even_when_they_are_set_at_the_same_moment():
    person = bob()
    results = race(*([lambda: put(person)] * 6))
    assert sorted(type(result).__name__ for result in results) == ["Absence"] + ["Conflict"] * 5
    assert Absence.objects.count() == 1


def test_the_default_delegate_of_a_team_decides_for_who_names_no_one():
    person, erin, team = bob(), make_person("erin", DECIDER), Group.objects.create(name="finance")
    person.groups.add(team)
    TeamSettings.objects.create(team=team, default_delegate=erin)
    assert put(person, by_default=True).delegate == erin
    Absence.objects.all().delete()
    assert put(person).delegate is None
    Absence.objects.all().delete()
    TeamSettings.objects.update(default_delegate=person)
    assert put(person, by_default=True).delegate is None


def test_of_several_teams_the_first_by_name_with_a_default_delegate_who_may_decide_counts():
    person, erin, frank = bob(), make_person("erin", DECIDER), make_person("frank", DECIDER)
    delegates = {"audit": person, "billing": carol(), "finance": erin, "security": frank}
    for name in reversed(delegates):
        team = Group.objects.create(name=name)
        person.groups.add(team)
        TeamSettings.objects.create(team=team, default_delegate=delegates[name])
    assert put(person, by_default=True).delegate == erin
    User.objects.filter(pk=erin.pk).update(is_active=False)
    Absence.objects.all().delete()
    assert put(person, by_default=True).delegate == frank


def test_retention_removes_absences_that_have_ended_long_ago_on_record():
    person, erin = bob(), make_person("erin", DECIDER)
    ages = {"long past": 31, "past": 29, "now": -1}
    now = timezone.now()
    for reason, days in ages.items():
        away(person, erin, since=timedelta(days=days + 2), for_=timedelta(days=-days), reason=reason)
    before = now - timedelta(days=30)
    assert (prune_absences(before), prune_absences(before)) == (1, 0)
    assert sorted(Absence.objects.values_list("reason", flat=True)) == ["now", "past"]
    (entry,) = AuditEntry.objects.filter(event="retention.pruned")
    assert entry.data["absences"] == 1


def test_people_set_it_in_their_settings():
    person = bob()
    erin = make_person("erin", DECIDER)
    client = browser(person)
    page = client.get("/settings/absence/").text
    assert ("Out of office" in page, 'value="erin"' in page, 'value="bob"' in page) == (True, True, False)
    until = (later(24)).strftime("%Y-%m-%dT%H:%M")
    sent = client.post("/settings/absence/", {"until": until, "delegate": "erin", "reason": "<b>Vacation</b>"})
    assert (sent.status_code, Absence.objects.get().delegate) == (302, erin)
    shown = client.get("/settings/absence/").text
    assert "&lt;b&gt;Vacation&lt;/b&gt;" in shown
    assert "You decide for" in browser(erin).get("/settings/absence/").text
    client.post(f"/settings/absence/{Absence.objects.get().pk}/end/")
    assert Absence.objects.count() == 0


def test_times_are_short_and_in_the_time_zone_of_the_reader():
    person, erin = bob(), make_person("erin", DECIDER)
    put(person, until=later(48), delegate=erin)
    Preferences.objects.create(person=erin, time_zone="Asia/Tokyo")
    until = timezone.localtime(Absence.objects.get().until, ZoneInfo("Asia/Tokyo"))
    page = browser(erin).get("/settings/absence/").text
    [_start, end] = [each for each in parse(page).find("time") if "data-short" in each.attributes]
    short = f"{until:%b} {until.day}, " + (f"{until:%Y}, " if until.year != later(0).year else "") + f"{until:%H:%M}"
    assert (end.words, end.attributes["data-exact"]) == (short, "Asia/Tokyo")
    # The field is read in the same zone, and names it for the script in case the browser is in another.
    fields = parse(page).find("input", type="datetime-local")
    assert [field.attributes["data-read-in"] for field in fields] == ["Asia/Tokyo"] * 2
    typed = (until + HOUR).strftime("%Y-%m-%dT%H:%M")
    Preferences.objects.create(person=person, time_zone="Asia/Tokyo")
    refused = browser(person).post("/settings/absence/", {"until": typed})
    assert f"until {short}. End it first." in refused.text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"until": "tomorrow"}, "Enter a valid date/time."),
        ({}, "This field is required."),
        ({"until": "2020-01-01T10:00"}, "Until must be after the start and in the future."),
        ({"until": "2020-01-01T10:00", "delegate": "mallory"}, "Select a valid choice."),
    ],
)
def test_a_bad_form_is_shown_again_with_words(fields, words):
    mallory()
    sent = browser(bob()).post("/settings/absence/", fields)
    assert (sent.status_code, words in sent.text, Absence.objects.count()) == (422, True, 0)


def test_administrators_set_it_on_the_page_of_a_person():
    person = bob()
    client = browser(admin())
    path = f"/settings/people/{person.pk}/absence/"
    until = (later(24)).strftime("%Y-%m-%dT%H:%M")
    assert client.post(path, {"until": until}).status_code == 302
    assert (Absence.objects.get().set_by_name, "set by adam" in client.get(path).text) == ("adam", True)
    assert browser(mallory()).get(path).status_code == 404


def test_programs_set_list_and_end_absences():
    erin, until = make_person("erin", DECIDER), utc(later(48))
    machine = Machine(bob())
    made = machine.post("/absences", {"until": until, "delegate": "erin", "reason": "Vacation"})
    shown = {name: made.body[name] for name in ("person", "delegate", "until", "reason", "set_by")}
    assert (made.status, shown) == (
        201,
        {
            "person": "bob",
            "delegate": "erin",
            "until": until,
            "reason": "Vacation",
            "set_by": "API key a machine of bob",
        },
    )
    assert machine.post("/absences", {"until": until}).refusal == (409, "conflict")
    assert [row["id"] for row in Machine(erin).get("/absences").body["items"]] == [made.body["id"]]
    assert Machine(mallory()).get("/absences").body == {"items": []}
    assert Machine(erin).post(f"/absences/{made.body['id']}/end").refusal == (403, "not_allowed")
    assert machine.post(f"/absences/{made.body['id']}/end").body == made.body
    assert machine.post(f"/absences/{made.body['id']}/end").refusal == (404, "not_found")


def test_what_programs_send_wrongly_is_refused_in_words():
    bob_with_key, nobody = Machine(bob()), {"until": utc(later(48)), "delegate": "nobody"}
    assert bob_with_key.post("/absences", nobody).body["errors"] == {
        "delegate": "must be someone who may decide requests"
    }
    assert bob_with_key.post("/absences", {}).refusal == (422, "invalid")
    assert bob_with_key.post("/absences", {"until": "soon"}).refusal == (422, "invalid")
    assert bob_with_key.post("/absences", nobody | {"person": "alice"}).refusal == (403, "not_allowed")
    administrator = Machine(admin())
    assert administrator.post("/absences", nobody | {"person": "nobody"}).refusal == (422, "invalid")
    assert administrator.post("/absences", {"until": utc(later(48)), "person": "bob"}).body["set_by"] == (
        "API key a machine of adam"
    )


def test_a_key_needs_the_scope_of_absences():
    machine = Machine(bob(), scopes=("ask", "decide", "read", "grant"))
    assert machine.post("/absences", {"until": utc(later(48))}).refusal == (403, "scope_missing")


def test_a_request_says_who_decides_for_whom():
    person, erin = bob(), make_person("erin", DECIDER)
    request = make_request(alice(), assigned_to=person)
    away(person, erin)
    assert "erin decides for bob" in " ".join(browser(erin).get(request.get_absolute_url()).text.split())


def test_a_page_reads_no_more_when_more_people_are_away():
    delegate, team, statements = bob(), make_team("finance"), []
    request = make_voted(mallory(), both(group(team)))
    client = browser(delegate)
    for number in range(4):
        absent = make_person(f"p{number}", DECIDER)
        team.user_set.add(absent)
        away(absent, delegate)
        with CaptureQueriesContext(connection) as captured:
            page = client.get(request.get_absolute_url()).text
        statements.append(len(captured))
        assert f"bob decides for p{number}" in " ".join(page.split())
    assert len(set(statements[1:])) == 1
