"""Suggestions from people's decisions are viewed, and taken as a rule or as a grant; an error of a document leads to its line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.places import violations
from tests.proofs.browser.policy.test_rules import figures
from tests.support.processes.server import Server

pytestmark = pytest.mark.browser

#: Twenty-one approvals of one kind of call, a rejection of another, and a call that waits.
DECISIONS = """
from django.contrib.auth.models import User
from approvals import actions
from approvals.asking.answers import Answer
from approvals.states import Door, Verdict
from tests.approvals.actions.policy.granting import approve, ask
asker, decider = (User.objects.get(username=name) for name in ("requester", "approver"))
call = {"customer": {"country": "DE"}}
for _ in range(21):
    approve(ask(asker, call, tool="lookUpCustomer"), decider)
other = ask(asker, {"customer": {"country": "US"}}, tool="lookUpCustomer")
actions.decide(other.pk, Answer(Verdict.REJECT), by=decider, via=Door.DASHBOARD)
ask(asker, call, tool="lookUpCustomer")
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, real_processes: None) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("suggestions")) as running:
        running.run(DECISIONS)
        yield running


def fits(page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [360, 1280])
def test_a_suggestion_becomes_a_draft_with_what_it_would_have_done(windows, server, axe, width):
    page = windows.open(server.person("admin"), "/settings/policy/", viewport={"width": width, "height": 800})
    page.get_by_text("approved unchanged 21 of 21 times in 60 days, by 1 person").click()
    # The latest ten, and all that speak for it.
    expect(page.locator(".speaks-for a")).to_have_count(11)
    assert (violations(page, axe), fits(page)) == ({}, True)
    with page.expect_navigation():
        page.get_by_role("button", name="As a rule…").click()
    page.get_by_text("No new conflicts: nothing people rejected is allowed").wait_for()
    assert figures(page.get_by_role("row", name="lookUpCustomer by customer.country")) == [
        "22", "0", "0",
    ]  # fmt: skip
    assert (violations(page, axe), fits(page)) == ({}, True)


def test_a_suggestion_becomes_a_grant_that_a_person_gives(windows, server, axe):
    windows.tolerate("422")
    page = windows.open(server.person("admin"), "/settings/policy/")
    with page.expect_navigation():
        page.get_by_role("link", name="As a grant…").click()
    panel = page.locator(".granting")
    panel.get_by_text("approved unchanged 21 of 21 times").wait_for()
    panel.get_by_text("It would have approved 21 requests in the last 30 days.").wait_for()
    expect(panel.get_by_label("This exact input")).to_be_checked()
    assert violations(page, axe) == {}
    # The terms stand beside the input, so that it was in view.
    panel.get_by_role("button", name="Approve and grant").click()
    page.get_by_text("Approved by admin").first.wait_for()
    page.goto(f"{server.address}/settings/grants/")
    page.get_by_text("lookUpCustomer").first.wait_for()


@pytest.mark.parametrize(
    ("document", "line", "words"),
    [
        (
            '{\n  "rules": [\n    {"name": "a"\n     "then": "ask"}\n  ]\n}',
            4,
            "line 4, column 6: a comma or a bracket is",
        ),
        ('{\n  "rules": [\n    {"name": "a",\n     "then": "allowed"}\n  ]\n}', 4, "Line 4:"),
    ],
)
def test_a_fault_leads_to_its_line(windows, server, axe, document, line, words):
    windows.tolerate("422")
    page = windows.open(server.person("admin"), "/settings/policy/change/", viewport={"width": 360, "height": 800})
    page.locator("#document").fill(document)
    with page.expect_navigation():
        page.get_by_role("button", name="Show what it would have done").click()
    assert (violations(page, axe), fits(page)) == ({}, True)
    page.locator("#faults a", has_text=words).click()
    field = page.locator("#document:focus")
    field.wait_for()
    chosen = field.evaluate("field => field.value.slice(field.selectionStart, field.selectionEnd)")
    assert chosen == document.split("\n")[line - 1]
