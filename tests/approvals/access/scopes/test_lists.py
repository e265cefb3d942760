"""The lists of people with scopes: complete, in order, counted right, page by page."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.contrib.auth.models import User

from approvals import queries
from approvals.access.standing import standing_of
from approvals.models import ApprovalRequest
from approvals.queries import request_list
from approvals.queries.filters import Filters
from approvals.queries.workflow_list import SUSPENDED, page_of_workflows
from approvals.states import Kind, Verdict
from tests.support.desk.requests import decide, make_request
from tests.support.desk.scopes import again, make_scope
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

TOOLS = ("refund", "payroll", "picture", "other")


@pytest.fixture
def person(monkeypatch) -> User:
    """A person in two scopes of different tools, who has also asked and been assigned to, with pages of three."""
    monkeypatch.setattr(request_list, "PAGE", 3)
    root, person, asker = User.objects.create_superuser("root"), bob(), alice()
    made = []
    for number in range(5):
        for tool in TOOLS:
            owner = person if tool == "other" and number == 0 else asker
            kind = Kind.QUESTION if tool == "payroll" and number == 1 else Kind.APPROVAL
            assigned = person if kind == Kind.QUESTION else None
            made.append(make_request(owner, kind, tool_name=tool, assigned_to=assigned))
    for request in made[::3]:
        if request.kind == Kind.APPROVAL:
            decide(request, root, Verdict.APPROVE)
    make_scope(person, by=root, tools=["refund"])
    make_scope(person, by=root, tools=["refund", "picture"])
    return again(person)


def visible(person: User) -> set[str]:
    mine = {"refund", "picture"}
    rows = ApprovalRequest.objects.all()
    return {
        str(row.pk) for row in rows if row.tool_name in mine or person.pk in {row.requested_by_id, row.assigned_to_id}
    }


def pages(person: User, filters: Filters) -> list[str]:
    """Every row, in the order of the pages."""
    found, after = [], None
    for _page in range(20):
        rows, after = request_list.page_of(standing_of(person), replace(filters, after=after))
        found += [str(row.pk) for row in rows]
        if after is None:
            return found
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize("status", ["pending", "decided", "any"])
@pytest.mark.parametrize("more", [{}, {"sort": "newest"}, {"group": "tool"}, {"tool": "refund"}, {"group": "workflow"}])
def test_every_list_has_what_the_person_sees_once_and_in_order(person, status, more):
    filters = Filters(status=status, **more)
    found = pages(person, filters)
    everything = pages(User.objects.get(username="root"), filters)
    assert found == [pk for pk in everything if pk in visible(person)]
    assert request_list.count_of(standing_of(person), filters) == len(found) > 0


def test_reads_by_programs_searches_and_workflows_have_the_same_rows(person):
    seen = visible(person)
    assert {str(row.pk) for row in queries.matching_requests_for(standing_of(person))} == seen
    assert {str(row.pk) for row in queries.matching_requests_for(standing_of(person), text="may")} == seen
    waiting = {str(row.pk) for row in queries.inbox_for(standing_of(person))}
    workflows = page_of_workflows(standing_of(person), SUSPENDED, limit=100).workflows
    assert {str(step.pk) for row in workflows for step in row.steps} == waiting
