"""An assignee sees their own request, and nothing that the same workflow asks others."""

from __future__ import annotations

import pytest
from django.template import Context, Template

from approvals import actions
from approvals.asking.answers import Answer
from approvals.models.requests import Workflow
from approvals.states import Door, Kind, Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request, make_workflow
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

SECRET = "Fire Dora?"


@pytest.fixture
def asked():
    """Two requests of one workflow, which has the title of the first; the second is assigned to Dora."""
    owner, dora = alice(), make_person("dora")
    workflow = make_workflow(owner, title=SECRET)
    make_request(owner, workflow=workflow, title=SECRET)
    return make_request(owner, Kind.QUESTION, workflow=workflow, title="Are you in?", allow_text=True, assigned_to=dora)


def paths(request) -> list[str]:
    return [
        request.get_absolute_url(),
        request.workflow.get_absolute_url(),
        "/",
        "/requests/?group=workflow",
    ]


def test_no_page_shows_an_assignee_the_title_of_a_workflow(asked):
    pages = {path: browser(asked.assigned_to).get(path) for path in paths(asked)}
    told = {path: (page.status_code, SECRET in page.text) for path, page in pages.items()}
    assert told == dict.fromkeys(pages, (200, False))
    assert parse(pages[asked.workflow.get_absolute_url()].text).find("h1")[0].words.startswith("Are you in?")


def test_those_who_see_the_whole_workflow_read_its_title(asked):
    for person in (asked.requested_by, bob()):
        for path in paths(asked):
            assert (path, SECRET in browser(person).get(path).text) == (path, True)


def test_a_workflow_that_was_read_for_no_one_has_no_title_to_show(asked):
    workflow = Workflow.objects.get(pk=asked.workflow_id)
    assert (hasattr(workflow, "shown_title"), Template("{{ w.shown_title }}").render(Context({"w": workflow}))) == (
        False,
        "",
    )


def test_the_list_of_ended_workflows_shows_an_assignee_their_own_title(asked):
    actions.close_workflow(asked.workflow_id, state="cancelled", by=asked.requested_by, via=Door.DASHBOARD)
    page = browser(asked.assigned_to).get("/").text
    assert (SECRET in page, "Are you in?" in page) == (False, True)


def test_the_document_of_a_workflow_counts_the_requests_that_its_reader_may_see(asked):
    path = f"/workflows/{asked.workflow.key}?scope={asked.workflow.scope}"
    seen = {}
    for person in (asked.assigned_to, bob()):
        document = Machine(person).get(path).body
        seen[person.username] = (document["title"], document["open_requests"], len(document["suspensions"]))
    assert seen == {"dora": ("Are you in?", 1, 1), "bob": (SECRET, 2, 2)}
    actions.decide(asked.pk, Answer(Verdict.RESPOND, answer="Yes"), by=asked.assigned_to, via=Door.DASHBOARD)
    assert Machine(asked.assigned_to).get(path).body["open_requests"] == 0
