"""The page of a long workflow: its latest requests and audit entries, and links to the earlier ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models.signals import post_init
from django.test.utils import CaptureQueriesContext

from approvals import actions
from approvals.access.standing import standing_of
from approvals.models import ApprovalRequest, AuditEntry, Workflow
from approvals.queries import workflow_list
from approvals.queries.workflow_list import history_of
from approvals.states import Door, Kind, Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request, make_workflow
from tests.support.markup import Element, parse
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

SHOWN = 5
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _short_pages(monkeypatch):
    monkeypatch.setattr(workflow_list, "SHOWN", SHOWN)


def add_requests(workflow: Workflow, number: int, **changes: object) -> None:
    """Add requests, of which always three are made in the same moment."""
    first = workflow.requests.count()
    for place in range(first, first + number):
        made = make_request(workflow.owner, workflow=workflow, title=f"Step {place:02}", **changes)
        at = NOON + timedelta(minutes=place // 3)
        ApprovalRequest.objects.filter(pk=made.pk).update(created_at=at, changed_at=at)


def titles(page: Element) -> list[str]:
    cards = page.find("section", class_="request")
    return [card.find("h4")[0].words for card in cards]


def events(page: Element) -> list[str]:
    rows = [row.find("td") for row in page.find("tr")]
    # Tables of inputs have fewer columns.
    return [cells[1].words for cells in rows if len(cells) == 5]


def link(page: Element, words: str) -> str | None:
    return next((one.attributes["href"] for one in page.find("a", class_="button") if one.words == words), None)


def walk(client, address: str, words: str) -> Iterator[Element]:
    """Yield the page and those that a link leads to, one after the other."""
    following: str | None = ""
    while following is not None:
        page = parse(client.get(address + following).text)
        yield page
        following = link(page, words)


@contextmanager
def loaded() -> Iterator[Counter[str]]:
    """Count the rows that become objects."""
    found: Counter[str] = Counter()

    def count(sender, **_: object) -> None:
        found[sender.__name__] += 1

    post_init.connect(count)
    try:
        yield found
    finally:
        post_init.disconnect(count)


def test_every_request_is_reached_once_and_in_order():
    workflow, by = make_workflow(alice()), bob()
    add_requests(workflow, 12)
    pages = [titles(page) for page in walk(browser(by), workflow.get_absolute_url(), "Earlier requests")]
    assert [len(page) for page in pages] == [SHOWN, SHOWN, 2]
    found = [title for page in reversed(pages) for title in page]
    assert found == list(workflow.requests.order_by("created_at", "id").values_list("title", flat=True))


def test_every_audit_entry_is_reached_once_and_in_order():
    workflow, by = make_workflow(alice()), bob()
    add_requests(workflow, 3)
    for request in workflow.requests.order_by("created_at", "id"):
        decide(request, by, Verdict.APPROVE)
    add_requests(workflow, 6, kind=Kind.QUESTION, allow_text=True)
    pages = [events(page) for page in walk(browser(by), workflow.get_absolute_url(), "Earlier entries")]
    # The events name requests that this page does not show, too.
    assert pages == [
        ["Question asked"] * SHOWN,
        ["Approval requested", "Approved", "Approved", "Approved", "Question asked"],
        ["Approval requested"] * 2,
    ]


def test_each_list_keeps_the_place_of_the_other_and_leads_back_to_the_latest():
    workflow, client = make_workflow(alice()), browser(bob())
    add_requests(workflow, 12)
    address = workflow.get_absolute_url()
    latest = parse(client.get(address).text)
    earlier = parse(client.get(address + link(latest, "Earlier requests")).text)
    both = parse(client.get(address + link(earlier, "Earlier entries").removesuffix("#record")).text)
    assert titles(both) == titles(earlier)
    assert titles(parse(client.get(address + link(both, "Latest requests")).text)) == titles(latest)
    back = parse(client.get(address + link(both, "Latest entries").removesuffix("#record")).text)
    assert (titles(back), link(back, "Latest entries")) == (titles(earlier), None)
    assert [link(latest, words) for words in ("Latest requests", "Latest entries")] == [None, None]


def test_new_requests_are_appended_to_the_latest_ones_only():
    workflow, client = make_workflow(alice()), browser(bob())
    add_requests(workflow, SHOWN + 1)
    latest, earlier = walk(client, workflow.get_absolute_url(), "Earlier requests")
    lists = [page.find("div", id=f"requests-of-{workflow.pk}") for page in (latest, earlier)]
    assert [len(found) for found in lists] == [1, 0]
    # Cards that are on the page change in place on both.
    assert ["ws-connect" in page.find("div", class_="narrow")[0].attributes for page in (latest, earlier)] == [
        True,
        True,
    ]


def test_a_page_loads_as_many_rows_with_as_many_statements_however_long_the_workflow_is():
    workflow, by = make_workflow(alice()), bob()
    client, costs = browser(by), []
    for number in (12, 30):
        add_requests(workflow, number)
        # In order: PostgreSQL has none of its own, and entries about earlier requests cost a statement more.
        for request in workflow.requests.filter(status="pending").order_by("created_at", "id"):
            decide(request, by, Verdict.APPROVE)
        client.get(workflow.get_absolute_url())
        with loaded() as rows, CaptureQueriesContext(connection) as statements:
            assert client.get(workflow.get_absolute_url()).status_code == 200
        costs.append((len(statements), rows["ApprovalRequest"], rows["AuditEntry"]))
    assert costs[0] == costs[1]
    assert costs[0][1:] == (SHOWN + 1, SHOWN + 1)


def test_a_result_is_shown_wherever_its_audit_entry_is():
    workflow, by = make_workflow(alice()), bob()
    add_requests(workflow, 2)
    request = workflow.requests.order_by("created_at", "id").first()
    decide(request, by, Verdict.APPROVE)
    ran = actions.ReportedResult(input_digest=request.input_digest, output={"paid": 120})
    actions.report_result(request.pk, ran, scope=request.scope, by=request.requested_by, via=Door.REST)
    client, address = browser(by), workflow.get_absolute_url()

    def shown() -> list[bool]:
        pages = walk(client, address, "Earlier requests")
        return [
            "Ran exactly what was approved." in result.words
            for page in pages
            for result in page.find("section", class_="result")
        ]

    assert shown() == [True]
    for other in workflow.requests.filter(status="pending"):
        decide(other, by, Verdict.REJECT)
    add_requests(workflow, SHOWN)
    # It is on the second page of the requests, and no longer among the latest audit entries.
    assert shown() == [True]


def test_only_the_bodies_of_results_are_read():
    workflow, by = make_workflow(alice()), bob()
    add_requests(workflow, 1)
    request = workflow.requests.get()
    decide(request, by, Verdict.APPROVE)
    ran = actions.ReportedResult(input_digest=request.input_digest, output={"paid": 120})
    actions.report_result(request.pk, ran, scope=request.scope, by=request.requested_by, via=Door.REST)
    entries = history_of(standing_of(by), workflow).entries
    assert [(entry.event, entry.get_deferred_fields()) for entry in entries] == [
        ("request.created", {"body"}),
        ("request.decided", {"body"}),
        ("tool.result", set()),
    ]
    assert entries[-1].data == AuditEntry.objects.get(event="tool.result").data


def test_an_assignee_reaches_their_requests_and_no_audit_entry():
    workflow, dora = make_workflow(alice()), make_person("dora")
    add_requests(workflow, 4)
    add_requests(workflow, SHOWN + 1, kind=Kind.QUESTION, allow_text=True, assigned_to=dora)
    client, address = browser(dora), workflow.get_absolute_url()
    pages = list(walk(client, address, "Earlier requests"))
    assert sorted(title for page in pages for title in titles(page)) == [f"Step {place:02}" for place in range(4, 10)]
    assert [len(page.find("h2", id="record")) for page in pages] == [0, 0]
    assert parse(client.get(f"{address}?entries_before=999").text).find("h2", id="record") == []


NO_CURSORS = [
    "before=x", "before=", "before=2026-11-21T12:00:00Z,x", "before=2026-11-21T12:00:00,00000000-0000-4000-8000-000000000000",
    "before=0001-01-01T00:00:00%2B23:00,00000000-0000-4000-8000-000000000000", "before=%00", "entries_before=x",
    "entries_before=-1", "entries_before=99999999999999999999", "entries_before=%D9%A3", "entries_before=%00",
]  # fmt: skip


def test_a_cursor_that_is_none_is_ignored():
    workflow, client = make_workflow(alice()), browser(bob())
    add_requests(workflow, SHOWN + 1)
    latest = parse(client.get(workflow.get_absolute_url()).text)
    for query in NO_CURSORS:
        found = parse(client.get(f"{workflow.get_absolute_url()}?{query}").text)
        assert (titles(found), events(found)) == (titles(latest), events(latest)), query
