"""The inbox: sections, order, filters, groups, pages and invalid query strings."""

from __future__ import annotations

import itertools
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from approvals.access.standing import standing_of
from approvals.models import ApprovalRequest, ToolSettings
from approvals.queries import request_list
from approvals.queries.filters import Filters, ListCursor
from approvals.states import Kind, Priority, Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request, make_workflow
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db


def titles(html: str) -> str:
    """Return the titles of the rows as one text, without those decided recently."""
    page = parse(html)
    recent = [link for one in page.find("ol", id="list-recent") for link in one.find("a", class_="row-title")]
    return "".join(one.words for one in page.find("a", class_="row-title") if one not in recent)


def shown(client, **filters: object) -> str:
    answer = client.get(f"/requests/?{urlencode(filters)}")
    assert answer.status_code == 200, answer.text
    return titles(answer.text)


@pytest.fixture
def desk():
    """Create requests `a` to `g`, an hour apart, newest last; `f` and `g` are decided, `g` first."""
    owner, decider, erin = alice(), bob(), make_person("erin", "decide_approvalrequest")
    one, two = make_workflow(owner, agent="support"), make_workflow(erin, agent="billing", title="Invoices")
    made = [
        make_request(owner, workflow=one, title="a", tool_name="refund", priority=Priority.LOW),
        make_request(owner, workflow=one, title="b", tool_name="mail", message="about the parcel"),
        make_request(erin, workflow=two, title="c", tool_name="refund", priority=Priority.CRITICAL),
        make_request(owner, workflow=one, title="d", kind=Kind.QUESTION, allow_text=True, assigned_to=decider),
        make_request(erin, workflow=two, title="e", tool_name="refund", priority=Priority.HIGH),
        make_request(owner, workflow=one, title="f", tool_name="mail"),
        make_request(owner, workflow=one, title="g", tool_name="refund"),
    ]
    for hours, request in zip(range(7, 0, -1), made, strict=True):
        earlier = timezone.now() - timedelta(hours=hours)
        ApprovalRequest.objects.filter(pk=request.pk).update(created_at=earlier, changed_at=earlier)
    decide(made[6], erin, Verdict.REJECT, comment="Only on Friday.")
    decide(made[5], decider, Verdict.APPROVE)
    return browser(decider)


#: What each filter shows of the desk.
SHOWN = [
    ({}, "dceba"),
    ({"status": "pending"}, "dceba"),
    ({"status": "decided"}, "fg"),
    ({"status": "rejected"}, "g"),
    ({"status": "any"}, "fgedcba"),
    ({"kind": "question"}, "d"),
    ({"tool": "refund"}, "cea"),
    ({"tool": "ref"}, ""),
    ({"agent": "billing"}, "ce"),
    ({"person": "alice"}, "dba"),
    ({"person": "nobody"}, ""),
    ({"by": "erin"}, "g"),
    ({"by": "erin", "status": "approved"}, ""),
    ({"by": "bob", "status": "any"}, "f"),
    ({"priority": "critical"}, "c"),
    ({"mine": "1"}, "d"),
    ({"age": "over-7d"}, ""),
    ({"age": "under-1d"}, "dceba"),
    ({"age": "under-1h"}, ""),
    ({"q": "parc"}, "b"),
    ({"q": "friday"}, ""),
    ({"q": "friday", "status": "any"}, "g"),
    ({"q": "-"}, ""),
    ({"group": "tool"}, "dbcea"),
    ({"group": "agent"}, "cebda"),
    ({"group": "workflow"}, "bdace"),
    ({"group": "tool", "status": "decided"}, "fg"),
    ({"tool": "refund", "agent": "billing", "priority": "high", "q": "e"}, "e"),
    ({"tool": "", "q": " ", "age": ""}, "dceba"),
    ({"sort": "oldest"}, "abcde"),
    ({"sort": "newest"}, "edcba"),
    ({"sort": "deadline"}, "abcde"),
    ({"sort": "newest", "group": "tool"}, "dbeca"),
    ({"deadline": "none"}, "dceba"),
    ({"deadline": "7d"}, ""),
    ({"start": "2020-01-01"}, "dceba"),
    ({"start": "2020-01-01", "end": "2020-01-02"}, ""),
    ({"end": "9999-12-31", "status": "any"}, "fgedcba"),
    ({"snoozed": "1"}, ""),
]


@pytest.mark.parametrize("third", [0, 1, 2])
def test_inbox_applies_filters_and_sorts(desk, third):
    wanted = SHOWN[third::3]
    assert [(filters, shown(desk, **filters)) for filters, _ in wanted] == wanted


def test_groups_have_headings(desk):
    def headings(group: str) -> list[str]:
        return [one.words for one in parse(desk.get(f"/requests/?group={group}").text).find("h2", class_="inbox-group")]

    # The last one, for new requests, is hidden while it is empty.
    assert headings("tool") == ["No tool", "mail", "refund", "New"]
    assert headings("agent") == ["billing", "support", "New"]
    assert headings("workflow") == ["A refund", "Invoices", "New"]


#: Invalid query strings, and what the page says of each.
INVALID = {
    "status=open": "status must be one of: pending, decided,",
    "kind=x": "kind must be one of: approval, question, form, recovery",
    "priority=urgent": "priority must be one of",
    "group=person": "group must be one of: agent, tool, workflow",
    "age=1": "age must be one of",
    "mine=yes": "mine must be one of: 1",
    "after=x": "after is not a cursor of this list",
    "colour=red": "colour is unknown",
    "tool=a&tool=b": "tool is given more than once",
    "q=%00": "Search contains a character that cannot be shown",
    "tool=" + "x" * 101: "tool is longer than 100 characters",
    "q=" + "x" * 201: "Search is longer than 200 characters",
    "by=bob&status=pending": "by only applies to decided requests",
    "sort=price": "sort must be one of: deadline, newest, oldest",
    "sort=deadline&group=tool": "sort cannot be combined with groups",
    "start=yesterday": "start is not a date like 2026-11-23",
    "end=20261123": "end is not a date like 2026-11-23",
    "snoozed=1&status=any": "snoozed only applies to waiting requests",
    "%3Cscript%3E=1": "<script> is unknown",
}


def test_unknown_filters_are_errors_and_show_no_requests(desk):
    for query, named in INVALID.items():
        answer = desk.get(f"/requests/?{query}")
        (words,) = [one.words for one in parse(answer.text).find("div", class_="refusal")]
        assert (answer.status_code, titles(answer.text)) == (422, ""), query
        what = "The search cannot be read" if query.startswith("q=") else "This URL has invalid filters"
        assert words.startswith(f"{what}, so the list shows nothing."), query
        assert named in words, query


def test_people_see_only_their_own_requests_in_the_inbox(desk):
    people = {name: browser(person) for name, person in (("carol", carol()), ("mallory", mallory()))}
    assert shown(people["carol"]) == "cebda"
    assert [shown(people["mallory"], **filters) for filters in ({}, {"status": "any"}, {"q": "parcel"})] == ["", "", ""]
    owner = browser(ApprovalRequest.objects.get(title="a").requested_by)
    assert (shown(owner), shown(owner, status="any"), shown(owner, q="parcel")) == ("bda", "fgdba", "b")
    # Assignees see the request once, with their own requests.
    someone = ApprovalRequest.objects.get(title="d").assigned_to
    someone.user_permissions.clear()
    make_request(someone, Kind.QUESTION, allow_text=True, title="h", assigned_to=someone)
    assert shown(browser(someone)) == "dh"


def test_checkboxes_are_shown_for_bulk_decidable_requests(desk):
    def boxes(client) -> int:
        return len(parse(client.get("/requests/").text).find("input", name="pick"))

    assert (boxes(desk), boxes(browser(carol())), boxes(browser(mallory()))) == (4, 0, 0)


def test_decided_row_shows_who_what_and_why_and_still_the_values(desk):
    page = parse(desk.get("/requests/?status=rejected").text)
    (row,) = page.find("span", class_="row-values")
    assert [value.words for value in row.find("span", class_="row-value")] == ["amount 120", "orderId 4711"]
    assert row.words.startswith("Rejected by erin")
    assert row.find("q")[0].words == "Only on Friday."


PAGED = [{}, {"group": "tool"}, {"group": "workflow"}, {"q": "paged"}, {"person": "alice"}, {"sort": "deadline"},
         {"sort": "newest"}, {"sort": "oldest", "group": "tool"}]  # fmt: skip


@pytest.mark.parametrize("person", ["bob", "alice"])
def test_pages_show_each_request_once_in_order(monkeypatch, person):
    owner, decider = alice(), bob()
    workflows = [make_workflow(owner) for _ in range(3)]
    now = timezone.now()
    for number in range(22):
        made = make_request(
            owner,
            workflow=workflows[number % 3],
            title=f"paged {number}",
            tool_name=f"tool{number % 3}",
            priority=list(Priority)[number % 4],
            deadline_at=now + timedelta(hours=2 + number // 4) if number % 4 else None,
        )
        # Some have the same moment, so their ids decide the order.
        ApprovalRequest.objects.filter(pk=made.pk).update(created_at=now - timedelta(minutes=number // 3))
        if number % 2:
            decide(made, decider, Verdict.REJECT)
    user = {"alice": owner, "bob": decider}[person]
    for (status, total), filters in itertools.product({"pending": 11, "decided": 11, "any": 22}.items(), PAGED):
        looked = Filters(status=status, **filters)
        titles_of_pages = _titles_of_pages(monkeypatch, user, looked)
        everything, cursor = _page(monkeypatch, user, looked, 1000)
        assert (titles_of_pages, cursor) == ([one.title for one in everything], None), looked
        assert len(titles_of_pages) == total == request_list.count_of(standing_of(user), looked), looked


def _titles_of_pages(monkeypatch, user, looked):
    """Return the titles of all requests, read page by page."""
    seen, after = [], looked
    while after is not None:
        rows, cursor = _page(monkeypatch, user, after, 4)
        seen += [one.title for one in rows]
        after = looked.at(ListCursor.parse(str(cursor))) if cursor else None
    return seen


def _page(monkeypatch, user, filters, size):
    monkeypatch.setattr(request_list, "PAGE", size)
    return request_list.page_of(standing_of(user), filters)


def test_next_page_keeps_the_filters_and_links_back(monkeypatch, desk):
    monkeypatch.setattr(request_list, "PAGE", 1)
    page = parse(desk.get("/requests/?person=alice").text)
    (following,) = page.find("a", rel="next")
    assert following.attributes["href"].startswith("?person=alice&after=")
    second = parse(desk.get(f"/requests/{following.attributes['href']}").text)
    assert [one.words for one in second.find("a", class_="row-title")] == ["a"]
    (links,) = second.find("nav", aria_label="Pages")
    assert [one.attributes["href"] for one in links.find("a")] == ["?person=alice"]


def sections(html: str) -> dict[str, str]:
    found = {one.attributes["id"]: one for one in parse(html).find("ol", class_="inbox-list")}
    return {name: "".join(link.words for link in one.find("a", class_="row-title")) for name, one in found.items()}


def test_inbox_has_sections_and_what_expires_soon_is_on_top(desk):
    owner = ApprovalRequest.objects.get(title="a").requested_by
    soon = make_request(owner, title="h", priority=Priority.LOW, deadline_at=timezone.now() + timedelta(minutes=20))
    make_request(owner, title="i", deadline_at=timezone.now() + timedelta(hours=20))
    assert sections(desk.get("/").text) == {
        "list-expiring": "h",
        "list-mine": "d",
        "list-waiting": "cebia",
        "list-voted": "",
        "list-recent": "fg",
    }
    # Requests assigned to me or expiring soon are in one section only, and a filtered list has no recent decisions.
    ApprovalRequest.objects.filter(pk=soon.pk).update(assigned_to=User.objects.get(username="bob"))
    assert sections(desk.get("/?mine=1").text) == {
        "list-expiring": "h",
        "list-mine": "d",
        "list-waiting": "",
        "list-voted": "",
        "list-recent": "",
    }


def test_the_first_address_and_the_old_one_show_the_same(desk):
    pages = [parse(desk.get(f"{address}?tool=refund").text) for address in ("/", "/requests/")]
    assert next([row.attributes["id"] for row in page.find("li", class_="inbox-row")] for page in pages) == [
        row.attributes["id"] for row in pages[1].find("li", class_="inbox-row")
    ]


def test_row_shows_the_key_fields_that_an_administrator_chose(desk):
    ToolSettings.objects.create(tool_name="mail", key_fields=["/to/0", "/subject"])
    request = ApprovalRequest.objects.get(title="b")
    for body, values in (({"to": ["a@b.c"], "subject": "Hi"}, "to"), ({"long": "x" * 900, "subject": "Hi"}, "Hi")):
        ApprovalRequest.objects.filter(pk=request.pk).update(input=body)
        page = parse(desk.get("/?tool=mail").text)
        (row,) = page.find("li", id=f"row-{request.pk}")
        found = [value.words for value in row.find("span", class_="row-value")]
        assert found == (["0 a@b.c", "subject Hi"] if values == "to" else ["subject Hi"])


@pytest.mark.parametrize(
    ("search", "word"), [("parcel amount>abc", "amount>abc"), ("tool:", "tool:"), ("x total<5", "total<5")]
)
def test_a_search_that_cannot_be_read_keeps_its_text_names_the_word_and_lists_nothing(desk, search, word):
    for path, status in (("/", 422), ("/requests/", 422)):
        answer = desk.get(path, {"q": search})
        page = parse(answer.text)
        (field,) = page.find("input", id="filter-q")
        (problem,) = page.find("li", id="search-problem")
        assert (answer.status_code, titles(answer.text), field.attributes["value"]) == (status, "", search)
        assert (problem.words.startswith("Search"), f"“{word}”" in problem.words) == (True, True)
        assert field.attributes["aria-describedby"] == "search-problem"


def test_searches_by_value_keep_to_what_a_person_may_see(desk):
    make_request(
        User.objects.get(username="erin"), title="h", tool_name="refund", input={"customer": "Acme", "amount": 700}
    )
    assert (shown(desk, q="customer:acme amount>500"), shown(desk, q="tool:refund customer:acme")) == ("h", "h")
    assert (shown(desk, q="amount>700"), shown(desk, q="customer:bolt")) == ("", "")
    owner = browser(User.objects.get(username="alice"))
    assert (shown(owner, q="customer:acme"), shown(owner, q="amount>500")) == ("", "")
