"""Titles of workflows: the client's title, else the key; that of the request if they were made for it alone."""

from __future__ import annotations

import pytest

from approvals.models import Workflow
from approvals.states import Kind
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request, make_workflow
from tests.support.machine import APPROVAL, Machine
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def machine():
    return Machine(alice())


def titles(machine: Machine, *sent: dict[str, str]) -> list[str]:
    """The title of the workflow after each of these asks."""
    found = []
    for number, more in enumerate(sent):
        asked = machine.ask(APPROVAL, title=f"Step {number}?", tool_call_id=f"call-{number}", **more)
        found.append(machine.get(f"/workflows/{asked['workflow_id']}").body["title"])
    return found


def test_a_workflow_has_the_title_that_its_client_gives(machine):
    named = {"workflow_id": "deploy-7", "workflow_title": "Deploy checkout"}
    assert titles(machine, named, named) == ["Deploy checkout"] * 2


def test_a_workflow_without_a_title_shows_its_key(machine):
    assert titles(machine, {"workflow_id": "deploy-7"}, {"workflow_id": "deploy-7"}) == ["deploy-7"] * 2


def test_a_workflow_of_a_single_request_has_its_title(machine):
    sent = [{"agent": "billing"}, {"tool_name": ""}, {"workflow_title": "Refund of 4711"}]
    assert titles(machine, *sent) == ["Step 0?", "Step 1?", "Refund of 4711"]


def test_the_first_given_title_stays(machine):
    sent = [{"workflow_id": "w"} | more for more in ({}, {"workflow_title": "One"}, {"workflow_title": "Two"})]
    assert titles(machine, *sent) == ["w", "One", "One"]


def test_pages_show_the_title_with_invisible_characters_made_visible(machine):
    asked = machine.ask(APPROVAL, workflow_id="w", workflow_title="Pay\u202e me")
    page = browser(bob()).get(Workflow.objects.get(key=asked["workflow_id"]).get_absolute_url())
    assert parse(page.text).find("h1")[0].words.startswith("Pay⟨U+202E⟩ me")


@pytest.mark.parametrize("title", ["", "x" * 201, 5, None])
def test_a_title_is_bounded(machine, title):
    reply = machine.post("/requests", APPROVAL | {"workflow_id": "w", "workflow_title": title})
    assert (reply.status, list(reply.body.get("errors", {}))) in [(422, ["workflow_title"]), (201, [])]
    assert (reply.status == 201) is (title is None)


def test_repeating_a_request_replays_it_but_another_title_is_a_conflict(machine):
    asked = APPROVAL | {"tool_call_id": "call-1", "workflow_id": "w", "workflow_title": "One"}
    replies = [machine.post("/requests", asked | more) for more in ({}, {}, {"workflow_title": "Two"})]
    assert [reply.status for reply in replies] == [201, 200, 409]


def test_an_assignee_of_several_requests_sees_the_key_and_no_title():
    owner, dora = alice(), make_person("dora")
    workflow = make_workflow(owner, key="deploy-7", title="Deploy checkout")
    for title in ("Are you in?", "And now?"):
        make_request(owner, Kind.QUESTION, workflow=workflow, title=title, allow_text=True, assigned_to=dora)
    client = browser(dora)
    assert parse(client.get(workflow.get_absolute_url()).text).find("h1")[0].words.startswith("deploy-7")
    assert parse(client.get("/workflows/").text).find("a", class_="row-title")[0].words == "deploy-7"
    assert parse(client.get("/requests/?group=workflow").text).find("h2", class_="inbox-group")[0].words == "deploy-7"
