"""Seeded checks: when they come, what a person sees of them, and that nothing of them is anywhere else."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.actions.attention import seeding
from approvals.models import (
    ApprovalRequest,
    AuditEntry,
    CheckCase,
    Decision,
    OutboxEvent,
    SearchText,
    SeededCheck,
    Workflow,
)
from tests.approvals.attention.checks import planted, switch_on, work
from tests.support.desk.pressing import HTMX, browser
from tests.support.desk.requests import make_request
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db


def address(check: SeededCheck, then: str = "") -> str:
    return f"/requests/{check.pk}/{then}"


def send(person, check: SeededCheck, then: str = "decide/", **data: str):
    client = browser(person)
    page = parse(client.get(address(check)).text)
    (digest, *_rest) = [field.attributes["value"] for field in page.find("input", name="digest")]
    return client.post(address(check, then), {"digest": digest, "viewed": "raw", **data}, headers=HTMX)


def answer(person, check: SeededCheck, verdict: str) -> str:
    """Decide as a person does who presses again after a warning; the words of the outcome."""
    shown = send(person, check, verdict=verdict, unread="accepted")
    assert shown.status_code == 200, shown.text
    (outcome,) = parse(shown.text).find("div", class_="outcome")
    return outcome.find("p")[0].words


def test_a_check_comes_after_so_many_decisions_and_one_at_a_time():
    owner, decider = alice(), bob()
    switch_on()
    work(owner, decider, 4)
    assert seeding.plant_due_checks() == 0
    work(owner, decider, 1)
    assert [seeding.plant_due_checks() for _ in range(2)] == [1, 0]
    check = SeededCheck.objects.get()
    assert (check.person, check.requested_by, 3 <= check.next_after <= 8) == (decider, owner, True)


def test_without_the_switch_a_case_or_an_unlimited_right_no_one_gets_a_check():
    owner, decider = alice(), bob()
    work(owner, decider)
    assert seeding.plant_due_checks() == 0
    administrator = switch_on()
    work(owner, decider)
    seeding.remove_case(CheckCase.objects.get().pk, by=administrator, via="dashboard")
    assert seeding.plant_due_checks() == 0


def test_a_check_looks_like_a_request_in_the_inbox_of_its_person_alone():
    owner, decider = alice(), bob()
    check = planted(owner, decider)
    row = f"row-{check.pk}"
    shown = parse(browser(decider).get("/").text)
    (found,) = shown.find("li", id=row)
    assert found.find("a", class_="row-title")[0].attributes["href"] == address(check)
    assert "refund" in browser(decider).get(address(check)).text
    other = make_person("dora", "decide_approvalrequest")
    assert parse(browser(other).get("/").text).find("li", id=row) == []
    assert browser(other).get(address(check)).status_code == 404


@pytest.mark.parametrize(
    ("verdict", "expected", "words"),
    [
        ("approve", "reject", "This was a check. You approved it. It should have been rejected."),
        ("reject", "reject", "This was a check. You rejected it. That is right."),
        ("approve", "approve", "This was a check. You approved it. That is right."),
        ("reject", "approve", "This was a check. You rejected it. It should have been approved."),
    ],
)
def test_the_person_learns_at_once_what_was_right(verdict, expected, words):
    owner, decider = alice(), bob()
    check = planted(owner, decider, expected=expected)
    assert answer(decider, check, verdict) == words
    assert browser(decider).get(address(check)).text.count("No order costs that much.") == 1
    assert parse(browser(decider).get("/").text).find("li", id=f"row-{check.pk}") == []


def test_the_first_answer_stands():
    owner, decider = alice(), bob()
    check = planted(owner, decider)
    assert "You rejected it." in answer_twice(decider, check)
    assert SeededCheck.objects.get().verdict == "reject"


def answer_twice(decider, check: SeededCheck) -> str:
    answer(decider, check, "reject")
    return browser(decider).post(address(check, "decide/"), {"verdict": "approve"}, headers=HTMX).text


def test_parts_out_of_view_are_warned_of_as_with_a_request():
    owner, decider = alice(), bob()
    check = planted(owner, decider, input={"note": "x " * 9000})
    assert send(decider, check, verdict="approve", viewed="").status_code == 422
    answer(decider, check, "approve")
    stored = SeededCheck.objects.get()
    assert (stored.verdict, stored.unseen is not None) == ("approve", True)


@pytest.mark.parametrize(
    "then", ["comments/", "claim/", "assign/", "cancel/", "review/", "secret/", "grant/", "snooze/"]
)
def test_anything_other_than_a_decision_is_no_approval(then):
    owner, decider = alice(), bob()
    check = planted(owner, decider)
    shown = browser(decider).post(address(check, then), {"text": "What is this?", "until": "hour"}, headers=HTMX)
    assert (shown.status_code, shown.headers["HX-Retarget"]) == (200, f"#request-{check.pk}")
    assert "You did not approve it. That is right." in " ".join(parse(shown.text).find("div")[0].words.split())
    assert SeededCheck.objects.get().verdict == "other"


def test_every_link_of_a_check_leads_somewhere():
    owner, decider = alice(), bob()
    check = planted(owner, decider)
    client = browser(decider)
    links = [link.attributes["href"] for link in parse(client.get(address(check)).text).find("a")]
    own = [link for link in links if link.startswith(("/requests/", "/workflows/"))]
    assert "/workflows/0/" in own
    assert {link: client.get(link, follow=True).status_code for link in own} == dict.fromkeys(own, 200)
    assert client.get("/workflows/0/").headers["Location"] == address(check)
    assert SeededCheck.objects.get().decided_at is None
    for person in (make_person("dora", "decide_approvalrequest"), owner):
        assert browser(person).get("/workflows/0/").status_code == 404


def test_a_form_without_a_known_button_decides_nothing():
    owner, decider = alice(), bob()
    check = planted(owner, decider)
    assert send(decider, check, verdict="explode").status_code == 422
    assert SeededCheck.objects.get().decided_at is None


def test_nothing_of_a_check_is_anywhere_else(settings):
    settings.HITL_EVENT_HANDLERS = ["tests.approvals.outbound.test_outbox.count"]
    owner, decider = alice(), bob()
    check = planted(owner, decider)
    tables = (ApprovalRequest, Decision, Workflow, OutboxEvent, SearchText)
    before = [table.objects.count() for table in tables]
    machine = Machine(decider)
    assert machine.get(f"/requests/{check.pk}").refusal == (404, "not_found")
    assert machine.decide({"id": str(check.pk)}, "approve").refusal == (404, "not_found")
    assert str(check.pk) not in str(machine.get("/requests").body)
    answer(decider, check, "approve")
    assert [table.objects.count() for table in tables] == before
    entries = AuditEntry.objects.filter(event__startswith="check.").order_by("pk")
    assert [(entry.event, entry.actor_name, entry.request_id) for entry in entries] == [
        ("check.changed", "root", None),
        ("check.changed", "root", None),
        ("check.answered", "", None),
    ]
    assert entries[2].data == {"case": "Refund order 9999?", "verdict": "approve", "expected": "reject"}


def test_a_program_with_a_session_finds_no_check():
    owner, decider = alice(), bob()
    check = planted(owner, decider)
    browser_of_api = Machine()
    browser_of_api.client.force_login(decider)
    assert browser_of_api.get(f"/requests/{check.pk}").refusal == (404, "not_found")


def test_pages_without_checks_take_no_statement_more():
    owner, decider = alice(), bob()
    request, client, costs = make_request(owner), browser(decider), []
    for _ in range(2):
        with CaptureQueriesContext(connection) as statements:
            client.get("/")
            client.get(request.get_absolute_url())
        costs.append(len(statements))
        switch_on() if len(costs) == 1 else None
    assert costs[0] == costs[1]
