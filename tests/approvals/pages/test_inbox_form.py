"""The filter form of `/requests/`, and the pushes to the page."""

from __future__ import annotations

import pytest

from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest
from approvals.pages.lists.inbox_consumer import render_push
from approvals.queries import request_list
from approvals.queries.filters import Filters
from approvals.states import Kind, Verdict
from tests.approvals.pages.test_inbox_page import shown
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request, make_workflow
from tests.support.markup import parse
from tests.support.people import alice, bob, carol

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(client):
    client.force_login(bob())
    return client


def chosen(html: str) -> dict[str, str]:
    """Return what the filter form sends, without empty fields."""
    (form,) = parse(html).find("form", id="filters")
    found = {field.attributes["name"]: field.attributes.get("value", "") for field in form.find("input")}
    if not form.find("input", name="mine", checked=""):
        del found["mine"]
    for field in form.find("select"):
        selected = field.find("option", selected="") or field.find("option")
        found[field.attributes["name"]] = selected[0].attributes["value"]
    return {name: value for name, value in found.items() if value}


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("", {}),
        ("status=pending", {}),
        ("by=bob", {"by": "bob", "status": "decided"}),
        ("by=bob&status=pending", {"by": "bob"}),
        ("by=bob&status=open&kind=form", {"by": "bob", "status": "decided", "kind": "form"}),
        ("q=parcel&status=any&mine=1&colour=red&after=x", {"q": "parcel", "status": "any", "mine": "1"}),
        ("tool=a&tool=b&agent=support&group=tool", {"agent": "support", "group": "tool"}),
    ],
)
def test_filter_form_shows_the_valid_filters(client, query, kept):
    assert chosen(client.get(f"/requests/?{query}").text) == kept


def test_decided_by_filter_shows_their_decisions():
    owner, decider = alice(), bob()
    client = browser(decider)
    make_request(owner, title="waits")
    decide(make_request(owner, title="decided"), decider, Verdict.REJECT)
    sent = chosen(client.get("/requests/?by=bob&status=pending").text)
    assert shown(client, status="", **sent) == "decided"


def test_push_includes_notification_and_waiting_count():
    owner, decider, auditor = alice(), bob(), carol()
    for title in ("one", "two"):
        make_request(owner, Kind.QUESTION, workflow=make_workflow(owner), title=title, allow_text=True)
    make_request(owner, workflow=make_workflow(owner), title="three", assigned_to=decider)

    def pushed_to(person, title: str) -> tuple[list[str], list[str]]:
        changed = list(request_list.listed(ApprovalRequest.objects.filter(title=title), whole=True))
        html = parse(render_push(person, BatchCache(), Filters(), changed))
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
    html = [parse(render_push(person, together, Filters(), changed)) for person in (decider, owner)]
    assert [one.find("div", id="counts")[0].attributes["data-waiting"] for one in html] == ["2", "1"]
