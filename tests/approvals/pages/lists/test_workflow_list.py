"""The Workflows page: states, progress by step, duration, search, pages, and its pushes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.access.standing import standing_of
from approvals.live.batching import BatchCache
from approvals.models import Workflow
from approvals.pages import workflows as pages
from approvals.pages.lists.workflow_rows import duration_words
from approvals.pages.lists.workflows_consumer import WorkflowsConsumer
from approvals.queries import search as searching
from approvals.queries import workflow_list
from approvals.states import Kind, Priority, Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, end_workflow, make_request, make_workflow
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person, mallory

pytestmark = pytest.mark.django_db


def ended(owner, title: str, by, minutes_ago: int = 0, **changes: object) -> Workflow:
    """Create a workflow with one request that has ended."""
    workflow = make_workflow(owner, title=title, **changes)
    decide(make_request(owner, workflow=workflow, title=f"Step of {title}"), by, Verdict.REJECT)
    end_workflow(workflow)
    when = timezone.now() - timedelta(minutes=minutes_ago)
    Workflow.objects.filter(pk=workflow.pk).update(ended_at=when)
    return workflow


def titles(client, address: str) -> dict[str, list[str]]:
    found = parse(client.get(address).text).find("ol", class_="workflow-list")
    return {one.attributes["id"]: [link.words for link in one.find("a", class_="row-title")] for one in found}


def push(person, q: str = "") -> str:
    """Return the push that an open page with this search gets after it missed everything."""
    live = WorkflowsConsumer()
    live.q, live.scope = q, {"query_string": b"since=0"}
    return live.catch_up(standing_of(person), BatchCache())


def test_both_lists_are_shown_most_urgent_and_latest_first():
    owner, by = alice(), bob()
    for title, priority in (("b", "normal"), ("a", "critical"), ("c", "low")):
        make_request(owner, workflow=make_workflow(owner, title=title), priority=Priority(priority))
    ended(owner, "x", by, minutes_ago=5)
    ended(owner, "y", by)
    client = browser(by)
    assert titles(client, "/workflows/") == {"suspended": ["a", "b", "c"], "completed": ["y", "x"]}
    assert titles(client, "/workflows/?show=completed") == {"completed": ["y", "x"]}
    assert titles(browser(mallory()), "/workflows/") == {"suspended": [], "completed": []}


def test_a_row_shows_state_steps_and_run():
    owner, by = alice(), bob()
    workflow = make_workflow(owner, key="release-2.14.0", title="Release")
    decide(make_request(owner, workflow=workflow, title="One"), by, Verdict.APPROVE)
    decide(make_request(owner, Kind.QUESTION, workflow=workflow, title="Two", allow_text=True), by, Verdict.REJECT)
    make_request(owner, workflow=workflow, title="Three")
    Workflow.objects.filter(pk=workflow.pk).update(started_at=timezone.now() - timedelta(hours=2, minutes=5))
    (row,) = parse(browser(by).get("/workflows/").text).find("li", class_="workflow-row")
    steps = [(step.attributes["class"], step.attributes["title"]) for step in row.find("i", class_="step")]
    assert steps == [
        ("step is-approved", "One · Approved"),
        ("step is-rejected", "Two · Declined"),
        ("step is-pending", "Three · Waiting"),
    ]
    assert row.find("span", class_="workflow-progress")[0].words == "2 of 3 steps"
    # While it is suspended, its duration is its age, which the row shows beside it.
    assert (row.find("span", class_="workflow-time"), row.find("time")[0].words) == ([], "2h ago")
    assert row.find("span", class_="row-kind")[0].words == "Suspended"
    assert [run.words for run in row.find("span", class_="run")] == ["run release-2.14.0"]


def test_a_row_of_an_ended_workflow_shows_its_duration():
    workflow = ended(alice(), "x", by := bob())
    begin = timezone.now() - timedelta(hours=3)
    Workflow.objects.filter(pk=workflow.pk).update(started_at=begin, ended_at=begin + timedelta(hours=2, minutes=5))
    (row,) = parse(browser(by).get("/workflows/").text).find("li", class_="workflow-row")
    assert row.find("span", class_="workflow-time")[0].words == "2 h 5 min"


def test_only_the_latest_steps_of_a_long_workflow_are_shown(monkeypatch):
    monkeypatch.setattr(workflow_list, "STEPS", 3)
    owner = alice()
    workflow = make_workflow(owner)
    for number in range(5):
        make_request(owner, workflow=workflow, title=f"Step {number}")
    (row,) = parse(browser(owner).get("/workflows/").text).find("li", class_="workflow-row")
    assert [step.attributes["title"][:6] for step in row.find("i", class_="step")] == ["Step 2", "Step 3", "Step 4"]
    assert row.find("span", class_="workflow-progress")[0].words == "… 0 of the last 3 steps"


def test_an_assignee_sees_only_their_steps():
    owner, dora = alice(), make_person("dora")
    workflow = make_workflow(owner, title="Secret plan")
    make_request(owner, workflow=workflow, title="Not for Dora")
    make_request(owner, Kind.QUESTION, workflow=workflow, title="For Dora", allow_text=True, assigned_to=dora)
    client = browser(dora)
    (row,) = parse(client.get("/workflows/").text).find("li", class_="workflow-row")
    assert (row.find("a", class_="row-title")[0].words, len(row.find("i", class_="step"))) == ("For Dora", 1)
    assert titles(client, "/workflows/?q=Secret") == {"suspended": [], "completed": []}
    assert titles(client, "/workflows/?q=dora")["suspended"] == ["For Dora"]


def test_search_finds_titles_keys_and_words_of_requests():
    owner, by = alice(), bob()
    make_request(owner, workflow=make_workflow(owner, title="Returns", key="run-77"), title="Pay back?")
    ended(owner, "Old returns", by, key="run-78")
    client = browser(by)
    found = {q: titles(client, f"/workflows/?q={q}") for q in ("returns", "run-78", "back", "nothing", "%25")}
    assert found == {
        "returns": {"suspended": ["Returns"], "completed": ["Old returns"]},
        "run-78": {"suspended": [], "completed": ["Old returns"]},
        "back": {"suspended": ["Returns"], "completed": []},
        "nothing": {"suspended": [], "completed": []},
        "%25": {"suspended": [], "completed": []},
    }
    assert [client.get("/workflows/", {"q": q}).status_code for q in ("x" * 201, "a\x00b")] == [422, 422]


@pytest.mark.parametrize("few", [0, 500])
def test_frequent_and_rare_words_find_workflows_on_the_page_and_in_pushes(monkeypatch, few):
    monkeypatch.setattr(searching, "FEW", few)
    owner, by = alice(), bob()
    waiting = make_workflow(owner, title="Returns")
    for title in ("Not this one", "Pay back?", "Nor this"):
        make_request(owner, workflow=waiting, title=title)
    ended(owner, "Old returns", by)

    def found(person, q: str) -> list[list[str]]:
        pushed = parse(push(person, q)).find("a", class_="row-title")
        return [*titles(browser(person), f"/workflows/?q={q}").values(), sorted(link.words for link in pushed)]

    every = {q: found(by, q) for q in ("back", "step of", "not", "nothing", "%25")}
    assert every == {
        "back": [["Returns"], [], ["Returns"]],
        "step of": [[], ["Old returns"], ["Old returns"]],
        "not": [["Returns"], [], ["Returns"]],
        "nothing": [[], [], []],
        "%25": [[], [], []],
    }
    # The last word may be a prefix, and of several requests one has to hold all words.
    assert [found(by, q) for q in ("not th", "nor back")] == [[["Returns"], [], ["Returns"]], [[], [], []]]
    assert [found(owner, "back"), found(make_person("dora"), "back")] == [[["Returns"], [], ["Returns"]], [[], [], []]]


@pytest.mark.parametrize(("show", "made"), [("completed", 8), ("suspended", 7)])
def test_lists_are_paginated_without_repeats(monkeypatch, show, made):
    monkeypatch.setattr(pages, "PAGE", 3)
    owner, by = alice(), bob()
    for number in range(made):
        if show == "completed":
            ended(owner, f"Run {number}", by, minutes_ago=number // 2)
        else:
            make_request(owner, workflow=make_workflow(owner, title=f"Run {number}"))
    client, address, seen = browser(by), f"/workflows/?show={show}", []
    while address:
        page = parse(client.get(address).text)
        seen.append([row.words for row in page.find("a", class_="row-title")])
        address = next((f"/workflows/{link.attributes['href']}" for link in page.find("a", rel="next")), None)
    assert [len(one) for one in seen] == [3, 3, made - 6]
    assert sorted(title for one in seen for title in one) == [f"Run {number}" for number in range(made)]


def test_a_push_holds_the_rows_that_the_person_may_see_and_the_counts():
    owner, by = alice(), bob()
    request = make_request(owner, workflow=make_workflow(owner, title="Returns"))

    def pushed(person, q: str = "") -> tuple[list[str], list[str]]:
        html = parse(push(person, q))
        return [one.words for one in html.find("a", class_="row-title")], [
            one.words for one in html.find("span", id="tab-workflows")
        ]

    assert [pushed(one) for one in (by, owner, mallory())] == [(["Returns"], ["1"]), (["Returns"], ["1"]), ([], [])]
    assert [pushed(by, q)[0] for q in ("returns", "other")] == [["Returns"], []]
    decide(request, by, Verdict.APPROVE)
    assert pushed(by) == (["Returns"], ["0"])


def test_durations_have_their_two_largest_units():
    words = [
        duration_words(timedelta(**given))
        for given in ({"seconds": -1}, {"minutes": 3, "seconds": 4}, {"days": 2, "hours": 5})
    ]
    assert words == ["0 s", "3 min 4 s", "2 d 5 h"]
