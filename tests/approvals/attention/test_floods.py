"""Many similar requests of one agent: one row, one page that decides them together, and one message to the person who runs it."""

from __future__ import annotations

import pytest
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.actions.attention import floods
from approvals.models import ApprovalRequest, AuditEntry, Decision, ToolSettings
from approvals.outbound import mailing
from approvals.states import Kind, Priority, Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import FUTURE, make_request, make_workflow, stored
from tests.support.desk.votes import both, group, vote, with_terms
from tests.support.markup import Element, parse
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db
#: So many alike rows become one.
FOLD_FROM = 10


@pytest.fixture(autouse=True)
def few_are_a_flood(settings) -> None:
    settings.HITL_FLOOD = FOLD_FROM - 1


def flood(owner, number: int = FOLD_FROM, **changes) -> list[ApprovalRequest]:
    return [
        make_request(owner, **{"tool_name": "refund", "input": {"amount": 250, "order_id": place}} | changes)
        for place in range(number)
    ]


def page_of(person, address: str = "/") -> Element:
    return parse(browser(person).get(address).text)


def folds(page: Element) -> list[tuple[str, int]]:
    return [
        (fold.find("summary")[0].words, len(fold.find("li", class_="inbox-row")))
        for fold in page.find("details", class_="alike")
    ]


def test_similar_requests_are_one_row_in_the_place_of_the_first():
    owner, decider = alice(), bob()
    first, *rest = flood(owner)
    other = make_request(owner, title="Something else", tool_name="pay")
    page = page_of(decider)
    (waiting,) = page.find("ol", id="list-waiting")
    outer = [child.attributes.get("id", child.attributes["class"]) for child in waiting.inside]
    assert outer == [f"row-{first.pk}", "alike-rows", f"row-{other.pk}"]
    (fold,) = waiting.find("details", class_="alike")
    assert [row.attributes["id"] for row in fold.find("li", class_="inbox-row")] == [f"row-{one.pk}" for one in rest]
    assert (folds(page), "open" in fold.attributes) == ([("9 more like this", 9)], False)


@pytest.mark.parametrize(
    "changes",
    [{"tool_name": "pay"}, {"kind": Kind.FORM, "response_schema": {"type": "object"}}, {"priority": Priority.HIGH}],
)
def test_requests_that_differ_in_more_than_values_are_not_alike(changes):
    owner = alice()
    flood(owner, FOLD_FROM - 1)
    flood(owner, 1, **changes)
    assert folds(page_of(bob())) == []


@pytest.mark.parametrize(
    "inputs",
    [
        [{"amount": 12 + place} for place in range(FOLD_FROM)],
        [{"amount": 7, "to": f"p{place}@example.com"} for place in range(FOLD_FROM)],
        [{"amount": 7, "account_id": str(place)} for place in range(FOLD_FROM)],
        [{"note": "n" * 500 + str(place)} for place in range(FOLD_FROM)],
        [{"ref": "see the note below" + " " * place} for place in range(FOLD_FROM)],
    ],
)
def test_requests_with_different_values_are_rows_of_their_own(inputs):
    owner = alice()
    for value in inputs:
        make_request(owner, tool_name="refund", input=value)
    assert folds(page_of(bob())) == []


def test_identifiers_that_an_administrator_chose_as_key_fields_are_not_folded():
    ToolSettings.objects.create(tool_name="refund", key_fields=["/order_id"])
    flood(alice())
    assert folds(page_of(bob())) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"message": "The customer has not confirmed this."},
        {"context": {"risk": "high"}},
        {"title": "Refund 7 EUR"},
        {"deadline_at": FUTURE},
        {"message": "m" * 500},
    ],
)
def test_what_differs_beside_the_input_and_what_has_a_deadline_stays_outside(changes):
    owner, decider = alice(), bob()
    flood(owner)
    (other,) = flood(owner, 1, **changes)
    page = page_of(decider)
    outside = [row.attributes["id"] for row in page.find("li", class_="inbox-row")]
    folded = [row.attributes["id"] for fold in page.find("details") for row in fold.find("li", class_="inbox-row")]
    assert (folds(page), f"row-{other.pk}" in outside, f"row-{other.pk}" in folded) == (
        [("9 more like this", 9)],
        True,
        False,
    )


def test_titles_and_messages_may_name_the_identifier():
    owner = alice()
    for place in range(FOLD_FROM):
        make_request(
            owner,
            tool_name="refund",
            title=f"Refund o-{place}",
            message=f"For o-{place}.",
            input={"order_id": f"o-{place}"},
        )
    assert folds(page_of(bob())) == [("9 more like this", 9)]


def test_long_inputs_that_are_equal_are_alike():
    owner = alice()
    for _ in range(FOLD_FROM):
        make_request(owner, tool_name="mail", input={"body": "word " * 500})
    assert folds(page_of(bob())) == [("9 more like this", 9)]


def test_requests_with_other_names_or_another_agent_or_person_are_not_alike():
    owner, other = alice(), make_person("ann")
    flood(owner, FOLD_FROM - 1)
    flood(owner, 1, input={"total": 3})
    flood(owner, 1, workflow=make_workflow(owner, agent="billing"))
    flood(other, 1)
    assert folds(page_of(bob())) == []


def test_all_of_them_lead_to_the_page_that_shows_what_differs_and_decides_nothing_before():
    owner, decider = alice(), bob()
    flood(owner)
    client = browser(decider)
    (line,) = parse(client.get("/").text).find("li", class_="alike-rows")
    (picks,) = line.find("input", name="picks")
    sent = {"picks": picks.attributes["value"], "verdict": "approve", "back": "/"}
    shown = client.post("/requests/bulk/", sent)
    assert (shown.status_code, "Approve 10 requests?" in shown.text, Decision.objects.count()) == (200, True, 0)
    client.post("/requests/bulk/", sent | {"confirmed": "yes"})
    assert Decision.objects.filter(verdict="approve", by_name="bob").count() == FOLD_FROM


def test_people_who_may_not_decide_see_the_fold_without_buttons():
    owner = alice()
    flood(owner)
    (line,) = page_of(owner).find("li", class_="alike-rows")
    assert line.find("form") == []


def test_a_fold_takes_no_statement_more():
    owner, decider = alice(), bob()
    client, costs = browser(decider), []
    for number in (FOLD_FROM - 1, 1):
        flood(owner, number)
        with CaptureQueriesContext(connection) as statements:
            client.get("/")
        costs.append(len(statements))
    assert costs[0] == costs[1]


def test_pages_go_on_after_the_last_row_read_and_lose_none():
    owner, decider = alice(), bob()
    requests = flood(owner, 60)
    client = browser(decider)
    first = parse(client.get("/").text)
    (more,) = first.find("a", rel="next")
    second = parse(client.get(f"/{more.attributes['href']}").text)
    shown = [row.attributes["id"] for page in (first, second) for row in page.find("li", class_="inbox-row")]
    assert (len(shown), set(shown)) == (60, {f"row-{request.pk}" for request in requests})


@pytest.mark.parametrize("picks", ["nonsense", "1:2 3", ""])
def test_picks_that_name_no_request_are_refused(picks):
    answer = browser(bob()).post("/requests/bulk/", {"picks": picks, "verdict": "approve"})
    assert answer.status_code == 422


def settle() -> None:
    """Make all requests old enough for the sweep to check."""
    ApprovalRequest.objects.update(created_at=timezone.now() - 2 * floods.SETTLED)


def test_who_runs_the_agent_is_told_once(settings, django_capture_on_commit_callbacks):
    settings.HITL_FLOOD, settings.HITL_MAIL = 3, True
    owner = alice()
    owner.email = "alice@example.com"
    owner.save()
    flood(owner, 3)
    settle()
    assert list(floods.find_floods()) == []
    flood(owner, 2)
    settle()
    for _ in range(2):
        for stream in floods.find_floods():
            with django_capture_on_commit_callbacks(execute=True):
                floods.tell_of(stream)
    # Mails are sent one after another on a thread of their own.
    mailing._thread.submit(list).result()
    (message,) = mail.outbox
    assert message.extra_headers == mailing.AUTOMATIC
    assert message.to == ["alice@example.com"]
    assert "more than 3 similar requests from your agent support are waiting for a person." in message.body
    (entry,) = AuditEntry.objects.filter(event="agent.flooded")
    assert (entry.agent, entry.tool_name, entry.data) == (
        "support",
        "refund",
        {"requested_by": "alice", "more_than": 3},
    )


def test_no_one_is_told_and_nothing_folded_where_the_setting_is_off(settings):
    settings.HITL_FLOOD = 0
    flood(alice())
    settle()
    floods.tell_of_floods()
    assert AuditEntry.objects.filter(event="agent.flooded").count() == 0
    assert folds(page_of(bob())) == []


def test_rows_that_stand_folded_are_picked_with_the_input_that_people_vote_on():
    decider = bob()
    first, *_rest = flood(alice())
    with_terms(first, both(group(votes=2)))
    vote(
        first, make_person("erin", "decide_approvalrequest"), Verdict.EDIT, edited_input={"amount": 250, "order_id": 99}
    )
    (picks,) = [field.attributes["value"] for field in page_of(decider).find("input", name="picks")]
    assert f"{first.pk}:{stored(first).voted_digest}" in picks.split()
