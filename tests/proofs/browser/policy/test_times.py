"""Times of absences are typed and shown in the time zone of the reader, regardless of the server's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.support.processes.server import Server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, real_processes: None) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("times"), TIME_ZONE="America/New_York") as running:
        yield running


CHOOSE = """
from django.contrib.auth.models import User
from approvals.models import Preferences
person = User.objects.get(username="approver")
Preferences.objects.update_or_create(person=person, defaults={"time_zone": "Asia/Tokyo"})
"""


def test_an_absence_ends_when_the_reader_means(windows, server):
    day = datetime.now(UTC).date() + timedelta(days=30)
    # Without a choice, the zone is that of the browser; with one, it is the chosen one.
    for zone, script in (("Europe/Berlin", "pass"), ("Asia/Tokyo", CHOOSE)):
        server.run(script)
        page = windows.open(server.person("approver"), "/settings/absence/", timezone_id="Europe/Berlin")
        page.get_by_text(f"Times are in {zone}.").wait_for()
        page.get_by_label("Until").locator("visible=true").fill(f"{day}T09:00")
        with page.expect_navigation():
            page.get_by_role("button", name="Save").click()
        shown = page.locator(".row time[data-short]").last
        assert shown.inner_text().startswith(f"{day:%b} {day.day}, ")
        assert shown.inner_text().endswith(", 09:00")
        meant = datetime.combine(day, time(9), ZoneInfo(zone)).astimezone(UTC)
        assert shown.get_attribute("datetime") == meant.isoformat()
        with page.expect_navigation():
            page.get_by_role("button", name="End now", exact=True).click()
