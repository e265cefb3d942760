"""The chips of filters and their suggestions, and the pushes to the page."""

from __future__ import annotations

import pytest

from approvals.access.standing import standing_of
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest
from approvals.pages.lists.inbox_consumer import render_push
from approvals.queries import request_list
from approvals.queries.filters import Filters
from approvals.states import Kind, Priority
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request, make_workflow
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, mallory

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(client):
    client.force_login(bob())
    return client


def chips(html: str) -> dict[str, str]:
    """Return the value of each chip."""
    found = {
        one.attributes["data-chip"]: one.find("summary")[0].find("b")
        for one in parse(html).find("details", class_="chip")
        if "data-chip" in one.attributes
    }
    return {name: words[0].words for name, words in found.items() if words}


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("", {}),
        ("status=pending", {}),
        ("by=bob", {"by": "bob", "status": "Decided"}),
        ("by=bob&status=open&kind=form", {"by": "bob", "status": "Decided", "kind": "Form"}),
        ("q=parcel&status=any&mine=1&colour=red&after=x", {"status": "All", "mine": "to me"}),
        ("tool=a&tool=b&agent=support&group=tool", {"agent": "support", "group": "Tool"}),
        ("start=2026-11-01&end=2026-11-23&sort=newest", {"age": "11/01/2026 to 11/23/2026", "sort": "Newest first"}),
    ],
)
def test_chips_show_the_valid_filters(client, query, kept):
    assert chips(client.get(f"/?{query}").text) == kept


def test_what_is_set_stands_beside_the_menu_of_what_is_not(client):
    page = parse(client.get("/?tool=refund&priority=high&sort=newest").text)

    def named(*, within: str) -> list[str]:
        (box,) = [one for one in page.find(class_=within) if one.tag in {"div", "details"}]
        return [
            one.attributes["data-chip"] for one in box.find("details", class_="chip") if "data-chip" in one.attributes
        ]

    assert named(within="filter-menu") == ["status", "kind", "agent", "person", "deadline", "age"]
    assert named(within="chips") == ["priority", "tool"]
    (sort, group) = [one.find("summary")[0] for one in page.find("div", class_="orders")[0].find("details")]
    assert [(one.words, one.attributes["title"]) for one in (sort, group)] == [
        ("Sort by: Newest first", "Sort by: Newest first"),
        ("Group by", "Group by"),
    ]


def test_each_option_of_a_chip_sets_its_filter_and_keeps_the_others():
    client = browser(bob())
    page = parse(client.get("/?tool=refund&priority=high&group=agent").text)
    chips = [[link.attributes["href"] for link in one.find("a")] for one in page.find("details", class_="chip")]
    links = {link for chip in chips for link in chip}
    assert [link for link in links if "tool=refund" not in link] == []
    # The options of a chip differ by their value only.
    assert {client.get(chip[-1]).status_code for chip in chips if chip} == {200}
    assert {"/?priority=critical&tool=refund&group=agent"} <= {to_sorted(link) for link in links}
    (clear,) = [one for one in page.find("a", class_="chip-clear") if one.attributes["aria-label"].endswith("Priority")]
    assert clear.attributes["href"] == "/?tool=refund&group=agent"
    forms = {one.find("input", id="filter-agent") != []: one for one in page.find("form", class_="chip-form")}
    hidden = {field.attributes["name"]: field.attributes["value"] for field in forms[True].find("input", type="hidden")}
    assert hidden == {"tool": "refund", "priority": "high", "group": "agent"}


def to_sorted(link: str) -> str:
    order = ["priority", "tool", "group"]
    parts = link.removeprefix("/?").split("&")
    return "/?" + "&".join(
        sorted(parts, key=lambda part: order.index(part.split("=")[0]) if part.split("=")[0] in order else 9)
    )


def test_suggestions_are_the_most_frequent_values_that_the_other_filters_match():
    owner, decider, someone = alice(), bob(), mallory()
    for tool in ("refund", "refund", "mail"):
        make_request(owner, tool_name=tool)
    make_request(owner, tool_name="deploy", priority=Priority.HIGH)
    for person, query, found in (
        (decider, "field=tool", ["refund 2", "deploy 1", "mail 1"]),
        (decider, "tool=x&priority=high&field=tool", ["deploy 1"]),
        (owner, "field=person", ["alice 4"]),
        (someone, "field=tool", ["No values."]),
    ):
        page = parse(browser(person).get(f"/requests/suggestions/?{query}").text)
        assert sorted(one.words for one in [*page.find("a", role="option"), *page.find("p", class_="hint")]) == sorted(
            found
        )
    (link,) = parse(browser(decider).get("/requests/suggestions/?priority=high&field=tool").text).find("a")
    assert link.attributes["href"] == "/?priority=high&tool=deploy"
    statuses = [
        browser(decider).get(f"/requests/suggestions/{query}").status_code
        for query in ("", "?field=q", "?field=tool&x=1")
    ]
    assert statuses == [404, 404, 422]


def test_push_includes_notification_and_waiting_count():
    owner, decider, auditor = alice(), bob(), carol()
    for title in ("one", "two"):
        make_request(owner, Kind.QUESTION, workflow=make_workflow(owner), title=title, allow_text=True)
    make_request(owner, workflow=make_workflow(owner), title="three", assigned_to=decider)

    def pushed_to(person, title: str) -> tuple[list[str], list[str]]:
        changed = list(request_list.listed(ApprovalRequest.objects.filter(title=title), whole=True))
        html = parse(render_push(standing_of(person), BatchCache(), Filters(), changed))
        news = [one.attributes["data-title"] for one in html.find("div", class_="browser-notification")]
        return news, [one.attributes["data-waiting"] for one in html.find("div", id="counts")]

    assert pushed_to(decider, "one") == (["one"], ["3"])
    assert pushed_to(owner, "one") == (["one"], ["2"])
    assert pushed_to(owner, "three") == ([], ["2"])
    # Requests of others take no query and do not change the count.
    assert pushed_to(auditor, "one") == ([], [])
    pages = [parse(browser(person).get("/requests/").text) for person in (decider, owner, auditor)]
    assert [page.find("div", id="counts")[0].attributes["data-waiting"] for page in pages] == ["3", "2", "0"]


def test_shared_pushes_give_each_person_their_own_count():
    owner, decider = alice(), bob()
    make_request(owner, Kind.QUESTION, workflow=make_workflow(owner), title="one", allow_text=True)
    make_request(owner, workflow=make_workflow(owner), title="two")
    changed, together = list(request_list.listed(ApprovalRequest.objects.filter(title="one"), whole=True)), BatchCache()
    html = [parse(render_push(standing_of(person), together, Filters(), changed)) for person in (decider, owner)]
    assert [one.find("div", id="counts")[0].attributes["data-waiting"] for one in html] == ["2", "1"]
