"""The completed workflows of a person with scopes: all of them, each once, on pages of equal cost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.access.standing import standing_of
from approvals.models import ApprovalRequest, Workflow
from approvals.queries.lists import ended
from approvals.queries.lists.ended import EndedCursor
from approvals.queries.workflow_list import ENDED, cursor_in, page_of_workflows
from approvals.queries.workflows import WorkflowCursor
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request, make_workflow
from tests.support.desk.scopes import again, make_scope
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

THEN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser("root")


def end(owner: User, tools: str, *, ended_at: int, since: int = 0, assigned_to: User | None = None) -> Workflow:
    """A workflow that ended at this minute, with a request of each of these tools, which ended a minute after each other."""
    workflow = make_workflow(owner, key=f"{tools}-{Workflow.objects.count()}")
    for minute, tool in enumerate(tools):
        request = make_request(owner, workflow=workflow, tool_name=tool, assigned_to=assigned_to)
        at = THEN + timedelta(minutes=since + minute)
        ApprovalRequest.objects.filter(pk=request.pk).update(status="approved", changed_at=at)
    Workflow.objects.filter(pk=workflow.pk).update(
        state="completed", open_count=0, urgency=None, suspended_at=None, ended_at=THEN + timedelta(minutes=ended_at)
    )
    return workflow


def pages(person: User, limit: int) -> list[list[int]]:
    """The ids of the workflows of each page."""
    found, after = [], None
    while True:
        page = page_of_workflows(standing_of(again(person)), ENDED, after=after, limit=limit)
        found.append([workflow.pk for workflow in page.workflows])
        if page.after is None:
            return found
        # As an address carries it.
        after = cursor_in(str(page.after))
        assert after == page.after


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@pytest.mark.parametrize("chunk", [1, 2, 200])
def test_every_workflow_is_on_one_page_however_long_it_went_on_and_however_few_rows_are_read(
    root, monkeypatch, limit, chunk
):
    monkeypatch.setattr(ended, "CHUNK", chunk)
    monkeypatch.setattr(ended, "ROUNDS", 2)
    person, asker = bob(), alice()
    # Bob sees the tool a; of the first two, only the beginning, long before they ended.
    long = [end(asker, "abbb", ended_at=500, since=0), end(asker, "aab", ended_at=400, since=5)]
    end(asker, "bb", ended_at=300, since=100)
    recent = [end(asker, "aaaaaa", ended_at=200 + each, since=100 + each) for each in range(3)]
    own = [end(person, "b", ended_at=minute, since=minute) for minute in (1, 104, 450)]
    assigned = end(asker, "b", ended_at=50, since=30, assigned_to=person)
    running = make_workflow(asker, key="running")
    make_request(asker, workflow=running, tool_name="a")
    make_scope(person, by=root, tools=["a"])
    found = [pk for page in pages(person, limit) for pk in page]
    expected = [own[2], recent[2], recent[1], recent[0], own[1], assigned, long[1], own[0], long[0]]
    assert found == [workflow.pk for workflow in expected]


def test_of_equal_times_each_is_shown_once(root, monkeypatch):
    monkeypatch.setattr(ended, "CHUNK", 2)
    person, asker = bob(), alice()
    made = {end(owner, "a", ended_at=7, since=7).pk for owner in (asker, person) for _ in range(5)}
    make_scope(person, by=root, tools=["a"])
    found = [pk for page in pages(person, 2) for pk in page]
    assert (len(found), set(found)) == (len(made), made)


def test_a_page_costs_as_many_statements_with_many_workflows_as_with_few(root):
    person, asker = bob(), alice()
    for number in range(12):
        end(asker, "ab", ended_at=number + 2, since=number)
        if number == 3:
            make_scope(person, by=root, tools=["a"])
    few, many = [], []
    for limit, costs in ((3, few), (10, many)):
        after, reader = None, standing_of(person)
        list(page_of_workflows(reader, ENDED, limit=limit).workflows)
        for _ in range(2):
            with CaptureQueriesContext(connection) as statements:
                after = page_of_workflows(reader, ENDED, after=after, limit=limit).after
            costs.append(len(statements))
    assert few == many == [4, 4]


def test_a_cursor_of_another_list_gives_the_first_page(root):
    person, asker = bob(), alice()
    workflow = end(asker, "a", ended_at=1)
    make_scope(person, by=root, tools=["a"])
    for reader, cursor in ((person, WorkflowCursor(0, THEN, 1)), (root, EndedCursor(THEN, workflow.pk))):
        rows = page_of_workflows(standing_of(again(reader)), ENDED, after=cursor).workflows
        assert [row.pk for row in rows] == [workflow.pk]


def test_the_page_goes_on_to_the_last_workflow(root, settings):
    person, asker = bob(), alice()
    for number in range(3):
        end(asker, "a", ended_at=number + 2, since=number)
    make_scope(person, by=root, tools=["a"])
    client = browser(person)
    for after in (
        "",
        "nonsense",
        "2026-01-01T00:02:00Z,1",
        f"2026-01-01T00:02:00Z,{'9' * 30}",
        "0,2026-01-01T00:02:00Z,1",
    ):
        assert client.get("/workflows/", {"show": ENDED, "after": after}).status_code == 200
