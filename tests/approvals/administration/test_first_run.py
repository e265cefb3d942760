"""The checklist of the first run."""

from __future__ import annotations

import pytest

from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def test_the_checklist_ticks_itself_off_and_can_be_hidden():
    client = browser(administrator())

    def done() -> list[str]:
        page = parse(client.get("/settings/first-run/").text)
        return [one.attributes["id"][10:] for one in page.find("span", class_="step-done")]

    steps = [done()]
    bob()
    steps.append(done())
    machine = Machine(alice())
    steps.append(done())
    machine.ask()
    steps.append(done())
    assert steps == [[], ["approver"], ["approver", "key"], ["approver", "key", "asked"]]
    assert client.post("/settings/first-run/dismiss/").status_code == 302
    hidden = client.get("/settings/first-run/")
    assert (hidden.status_code, hidden.text) == (286, "")
