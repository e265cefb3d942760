"""The Inbox of people with scopes: the sections of a person without scopes, less the requests outside the scopes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from approvals.access.standing import standing_of
from approvals.models import ApprovalRequest
from approvals.queries.filters import Filters
from approvals.queries.policy.scopes import visible
from approvals.queries.request_list import PAGE
from approvals.queries.sections import EXPIRING, MINE, RECENT, RECENT_SHOWN, SECTIONS, WAITING, section_of, sections_of
from approvals.queries.workflow_list import SUSPENDED, page_of_workflows
from approvals.states import Kind, Priority, Status, Verdict
from tests.support.desk.requests import FUTURE, decide, make_request
from tests.support.desk.scopes import again, make_scope
from tests.support.people import alice, bob, mallory

pytestmark = pytest.mark.django_db

#: More tools than ended requests are shown, each with a scope set of its own.
TOOLS = [f"tool-{number}" for number in range(RECENT_SHOWN + 4)]


@pytest.fixture
def root() -> User:
    """A superuser, with more requests of all tools than a page has: some end soon, some ended, some are bob's own or assigned."""
    root, asker, person = User.objects.create_superuser("root"), alice(), bob()
    soon = timezone.now() + timedelta(minutes=30)
    priorities = list(Priority)
    for number in range(7 * len(TOOLS)):
        request = make_request(
            person if number % 13 == 0 else asker,
            Kind.QUESTION if number % 11 == 0 else Kind.APPROVAL,
            tool_name=TOOLS[number % len(TOOLS)],
            priority=priorities[number % len(priorities)],
            deadline_at=[None, soon, FUTURE, None, None][number % 5],
            assigned_to=person if number % 11 == 0 else None,
        )
        if number % 6 == 0 and request.kind == Kind.APPROVAL:
            decide(request, root, Verdict.REJECT)
    return root


def expected(person: User, tools: list[str]) -> dict[str, list[str]]:
    """The first rows of each section, from all requests of these tools and the person's own."""
    rows: dict[str, list[ApprovalRequest]] = {name: [] for name in SECTIONS}
    for request in ApprovalRequest.objects.order_by("urgency", "created_at", "id"):
        if request.tool_name in tools or person.pk in {request.requested_by_id, request.assigned_to_id}:
            rows[section_of(standing_of(person), request)].append(request)
    rows[EXPIRING].sort(key=lambda request: (request.deadline_at, request.pk))
    rows[RECENT].sort(key=lambda request: (request.changed_at, request.pk), reverse=True)
    limits = {EXPIRING: PAGE, MINE: PAGE, WAITING: PAGE, RECENT: RECENT_SHOWN}
    return {name: [str(row.pk) for row in rows[name][: limits[name]]] for name in SECTIONS}


def shown(person: User) -> dict[str, list[str]]:
    return {
        name: [str(row.pk) for row in rows]
        for name, rows in sections_of(standing_of(again(person)), Filters()).rows.items()
    }


@pytest.mark.parametrize("number", [0, 1, 3, len(TOOLS)])
def test_the_first_page_has_the_first_rows_of_all_scope_sets_and_of_what_is_the_persons_own(root, number):
    person = User.objects.get(username="bob")
    for tool in TOOLS[:number]:
        make_scope(person, by=root, tools=[tool])
    make_scope(by=root, tools=TOOLS)
    # The scope without people fits all, so each scope set is of two scopes or of this one.
    assert ApprovalRequest.objects.values("scope_set").distinct().count() == min(number + 1, len(TOOLS))
    found = shown(person)
    assert found == expected(person, TOOLS[:number])
    assert all(found[name] for name in SECTIONS)


def test_whoever_has_no_right_and_no_request_sees_none_and_whoever_is_inactive_sees_none(root):
    other, person = mallory(), User.objects.get(username="bob")
    make_scope(other, person, by=root, tools=TOOLS)
    assert shown(other) == {name: [] for name in SECTIONS}
    User.objects.filter(pk=person.pk).update(is_active=False)
    assert shown(person) == {name: [] for name in SECTIONS}


def test_without_scopes_and_with_the_right_to_ignore_them_the_page_is_that_of_everyone(root):
    everything = expected(root, TOOLS)
    assert shown(root) == everything
    make_scope(by=root, tools=TOOLS[:1])
    assert shown(root) == everything


def test_suspended_workflows_are_all_listed_however_many_requests_wait(root, monkeypatch):
    monkeypatch.setattr(visible, "IN_LISTS", 2)
    person = User.objects.get(username="bob")
    make_scope(person, by=root, tools=TOOLS[:3])
    found, after = [], None
    while True:
        page = page_of_workflows(standing_of(again(person)), SUSPENDED, after=after, limit=4)
        found += [workflow.pk for workflow in page.workflows]
        if (after := page.after) is None:
            break
    waiting = ApprovalRequest.objects.filter(status=Status.PENDING)
    theirs = {
        request.workflow_id
        for request in waiting
        if request.tool_name in TOOLS[:3] or person.pk in {request.requested_by_id, request.assigned_to_id}
    }
    assert (len(found), set(found)) == (len(theirs), theirs)
