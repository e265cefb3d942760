"""The values of events that are about no request: times as people read them, and a reason once."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from approvals.actions.logins import SUBJECT
from approvals.record import audit
from approvals.states import Door
from tests.support.desk.pressing import browser
from tests.support.markup import parse
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db


def test_the_time_of_an_event_is_in_words_and_its_reason_stands_once():
    data = {"person": "carol", "until": datetime(2031, 5, 6, 16, 30, 12, 569847, UTC).isoformat(), "reason": "Holidays"}
    audit.record("absence.set", SUBJECT, data=data, actor=alice(), via=Door.REST)
    reader = make_person("dave", "view_auditentry", "view_approvalrequest")
    (line,) = parse(browser(reader).get("/audit/?event=absence.set").text).find("li", class_="audit-row")
    values = [each.words for each in line.find("dl", class_="audit-values")]
    assert (values, line.words.count("Holidays")) == (["person carol until May 6, 2031, 16:30"], 1)
