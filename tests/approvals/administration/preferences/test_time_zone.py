"""People read times in their own time zone; programs and exports read UTC, and insights are those of the installation."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.utils import timezone

from approvals.models import AuditEntry, Preferences
from approvals.queries.audit_filters import audit_filters_from
from approvals.queries.preferences import zone_of
from approvals.states import Kind
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.markup import parse
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db

DISPLAY = {"theme": "dark", "density": "compact", "hold_seconds": "7"}


def reader() -> User:
    return make_person("rita", "view_approvalrequest", "view_auditentry")


def shown_times(page: str) -> list[str]:
    return [one.words for one in parse(page).find("time", class_="audit-at")]


def test_times_of_the_audit_log_and_of_records_are_in_the_zone_of_the_reader(settings):
    settings.TIME_ZONE = "UTC"
    request, person = make_request(alice(), Kind.APPROVAL), reader()
    (at,) = AuditEntry.objects.values_list("at", flat=True)
    client = browser(person)
    assert shown_times(client.get("/audit/").text) == [f"{at:%Y-%m-%d %H:%M:%S}"]
    Preferences.objects.create(person=person, time_zone="Pacific/Kiritimati")
    local = at.astimezone(zone_of(person.preferences))
    page = client.get("/audit/").text
    assert shown_times(page) == [f"{local:%Y-%m-%d %H:%M:%S}"]
    assert "times in Pacific/Kiritimati" in page
    record = client.get(f"{request.get_absolute_url()}record/").text
    created = request.created_at.astimezone(zone_of(person.preferences))
    assert (f"{created:%Y-%m-%d %H:%M:%S}" in record, "Times are in Pacific/Kiritimati." in record) == (True, True)
    assert 'data-zone="Pacific/Kiritimati"' in client.get("/").text


def test_days_of_audit_filters_are_those_of_the_installation(settings):
    settings.TIME_ZONE = "UTC"
    with timezone.override("Pacific/Kiritimati"):
        filters = audit_filters_from(QueryDict("since=2026-11-21&until=2026-11-21"))
        assert (filters.begin, filters.end) == (datetime(2026, 11, 21, tzinfo=UTC), datetime(2026, 11, 22, tzinfo=UTC))


def test_insights_are_in_the_zone_of_the_installation(settings):
    settings.TIME_ZONE = "Europe/Berlin"
    person = reader()
    Preferences.objects.create(person=person, time_zone="Pacific/Kiritimati")
    page = browser(person).get("/insights/").text
    assert ("midnight in Europe/Berlin" in page, "Kiritimati" in page.partition("<main")[2]) == (True, False)


def test_a_zone_is_stored_and_an_unknown_one_is_refused():
    client = browser(alice())
    assert client.post("/settings/display/", DISPLAY | {"time_zone": "Mars/Olympus"}).status_code == 422
    assert client.post("/settings/display/", DISPLAY | {"time_zone": "Asia/Kolkata"}).status_code == 302
    assert Preferences.objects.get().time_zone == "Asia/Kolkata"
    assert client.post("/settings/display/", DISPLAY | {"time_zone": ""}).status_code == 302
    assert Preferences.objects.get().time_zone == ""


def test_a_zone_that_was_removed_or_not_chosen_is_that_of_the_installation(settings):
    settings.TIME_ZONE = "Europe/Berlin"
    chosen = (None, Preferences(), Preferences(time_zone="Mars/Olympus"), Preferences(time_zone="../etc"))
    assert {zone_of(preferences).key for preferences in chosen} == {"Europe/Berlin"}
    assert zone_of(Preferences(time_zone="Asia/Kolkata")).utcoffset(datetime(2026, 1, 1))  # noqa: DTZ001 - a local time.total_seconds() == 19800
