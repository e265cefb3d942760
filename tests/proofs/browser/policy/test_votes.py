"""Several people decide one request, and in an emergency one person decides it alone."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.conftest import caught, intercept
from tests.proofs.browser.places import violations
from tests.proofs.browser.test_deliberate_decisions import LONG_HOLD, held
from tests.proofs.browser.test_kept_decisions import KEPT
from tests.proofs.browser.test_live import card
from tests.support.machine import Remote
from tests.support.processes.server import Server, until

pytestmark = pytest.mark.browser

#: Bob is in finance and may break the glass, Carol is in security; a payment needs both teams.
TEAMS_AND_RULE = """
from django.contrib.auth.models import Group, Permission, User
from approvals.actions import policy
from approvals.models.people import RoleName
from approvals.states import Door
from hitlsite.demo.people import make_person

for name, team in (("bob", "finance"), ("carol", "security")):
    Group.objects.create(name=team).user_set.add(make_person(name, RoleName.APPROVER, False))
alone = Permission.objects.get(codename="break_glass", content_type__app_label="approvals")
User.objects.get(username="bob").user_permissions.add(alone)
asking = {"stages": [{"groups": [{"teams": ["finance"]}, {"teams": ["security"]}]}]}
rule = {"name": "Payments", "match": {"tools": ["payInvoice"]}, "then": "ask", "ask": asking}
policy.write_policy(
    {"rules": [rule]}, based_on=None, reason="As agreed.", by=User.objects.get(username="admin"), via=Door.DASHBOARD
)
"""
CALL = {"title": "Pay the invoice?", "tool_name": "payInvoice", "input": {"amount": 900}}
BEGINS_AT_ONCE = """() =>
  document.querySelector("#detail-body .request-body").getBoundingClientRect().top + scrollY <= 240"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, real_processes: None) -> Iterator[Server]:
    """A server of its own, with a rule that wants two teams."""
    with Server(tmp_path_factory.mktemp("votes")) as running:
        running.run(TEAMS_AND_RULE)
        yield running


def test_bob_approves_the_row_says_who_is_missing_and_carol_approves(windows, server, axe):
    remote = Remote(server, "requester", ("ask", "read"))
    request = remote.ask(**CALL)
    bob = windows.open(server.person("bob"), "/?tool=payInvoice")
    carol = windows.open(server.person("carol"), "/?tool=payInvoice")
    row = f"#row-{request['id']}"
    expect(carol.locator(f"{row} .row-progress")).to_have_text("0 of 2 approvals")

    bob.locator(f"{row} .row-title").click()
    bob.locator("#detail-body").get_by_role("button", name="Approve", exact=True).click()
    bob.locator(".votes .seat", has_text="✓ approved by bob").wait_for()
    bob.locator(".votes summary").click()
    bob.locator(".votes-cast", has_text="bob approved").wait_for()
    expect(bob.locator("#detail-body .votes-progress")).to_have_text("1 of 2, security missing")
    assert violations(bob, axe) == {}

    # Carol's page, which was open all the time, says it too.
    carol.locator(f"{row} .row-progress", has_text="1 of 2 approvals").wait_for()
    assert remote.send("GET", f"/requests/{request['id']}").body["status"] == "pending"
    carol.locator(f"{row} .row-title").click()
    carol.locator("#detail-body .votes .seat", has_text="✓ approved by bob").wait_for()
    # Also on a phone, facts and seats leave the first screen to the input.
    carol.set_viewport_size({"width": 390, "height": 844})
    carol.wait_for_function(BEGINS_AT_ONCE)
    assert violations(carol, axe) == {}
    carol.locator("#detail-body").get_by_role("button", name="Approve", exact=True).click()
    carol.locator(f"{row}.is-approved").wait_for()
    assert remote.send("GET", f"/requests/{request['id']}").body["status"] == "approved"
    carol.goto(f"{server.address}/requests/{request['id']}/")
    expect(carol.locator(".votes-cast > li .vote")).to_have_text(["bob approved", "carol approved"])


def test_one_person_breaks_the_glass_with_a_reason_after_a_confirmation(windows, server, axe):
    remote = Remote(server, "requester", ("ask", "read"))
    request = remote.ask(**CALL)
    page = windows.open(server.person("bob"), f"/requests/{request['id']}/")
    page.get_by_text("Use break-glass access…").click()
    assert violations(page, axe) == {}
    alone = page.get_by_role("button", name="Approve alone")

    # Without a reason nothing is sent; without the confirmation neither.
    alone.click()
    expect(page.locator(".break-glass textarea:invalid")).to_have_count(1)
    page.get_by_label("Why you decide this alone").fill("The bank closes at noon.")
    alone.click()
    question = page.get_by_role("dialog", name="Decide this alone? Everyone concerned is notified at once.")
    assert violations(page, axe) == {}
    page.keyboard.press("Escape")
    assert remote.send("GET", f"/requests/{request['id']}").body["status"] == "pending"

    alone.click()
    question.get_by_role("button", name="Approve alone").click()
    page.locator(".outcome", has_text="The bank closes at noon.").wait_for()
    # A sent text is no longer kept as a draft.
    expect(page.get_by_text("What you typed is kept")).to_have_count(0)
    assert remote.send("GET", f"/requests/{request['id']}").body["status"] == "approved"
    assert violations(page, axe) == {}


def test_your_vote_is_said_on_card_and_row_and_changed_with_a_key(windows, server, axe):
    remote = Remote(server, "requester", ("ask", "read"))
    other, request = remote.ask(**CALL), remote.ask(**CALL)
    bob = windows.open(server.person("bob"), f"/?tool=payInvoice#{request['id']}")
    carol = windows.open(server.person("carol"), f"/requests/{request['id']}/")
    row = f"#row-{request['id']}"
    bob.locator("#detail-body").get_by_role("button", name="Approve", exact=True).click()
    bob.locator(f"#list-waiting {row}.is-voted .row-voted", has_text="You approved").wait_for()
    # The card of someone else, open all the time, says how far it is; the next request that waits for Bob has opened.
    carol.locator(".votes .seat", has_text="✓ approved by bob").wait_for()
    bob.locator(f"#detail-body #request-{other['id']}").wait_for()

    bob.goto(f"{server.address}/requests/?tool=payInvoice#{request['id']}")
    bob.locator(f"#list-voted {row}").wait_for()
    expect(bob.locator("#section-voted > h2")).to_have_text("Waiting for others")
    own = bob.locator("#detail-body .votes-own")
    expect(own).to_contain_text("You approved this")
    expect(own).to_contain_text("You can change your vote.")
    assert violations(bob, axe) == {}
    bob.locator(f"{row} .row-title").focus()
    bob.keyboard.press("r")
    bob.locator(f"{row}.is-rejected").wait_for()
    assert remote.send("GET", f"/requests/{request['id']}").body["status"] == "rejected"


def votes_on(server, request: str) -> list[str]:
    sql = "SELECT group_concat(verdict || ' ' || comment, ', ') FROM approvals_vote WHERE request_id = ?"
    return (server.value(sql, request.replace("-", "")) or "").split(", ")


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_a_held_vote_that_was_sent_when_its_page_was_left_is_called_stored(windows, server, size):
    request = Remote(server, "requester", ("ask", "read")).ask(**CALL)["id"]
    page = held(windows, server.person("bob"), request, LONG_HOLD)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.locator("#detail-title").click()
    page.keyboard.press("a")
    page.get_by_role("button", name="Undo").wait_for()
    # No page hears the answer: the next one has to look.
    page.goto(f"{server.address}/insights/")
    page.locator("#holds .toast-done", has_text="Stored: Approve, Pay the invoice?").wait_for()
    assert (votes_on(server, request), json.loads(page.evaluate(KEPT))) == (["approve "], {})
    page.goto(f"{server.address}/requests/{request}/")
    card(page, request).locator(".votes-own", has_text="You approved this").wait_for()
    expect(page.locator("#holds .toast-alert")).to_have_count(0)


def test_a_vote_whose_answer_is_lost_is_looked_up_and_never_offered_for_discarding(windows, server):
    windows.tolerate(" 502 ")
    request = Remote(server, "requester", ("ask", "read")).ask(**CALL)["id"]
    page = held(windows, server.person("bob"), request, 1)
    intercept(page, "**/decide/", lambda route: (route.fetch(), route.fulfill(status=502, body="Bad gateway")))
    shown = card(page, request)
    shown.get_by_placeholder("Message to the agent").fill("Fine.\nReally.")
    shown.locator("button[data-key=a]").click()
    page.locator("#holds .toast-done", has_text="Stored: Approve, Pay the invoice?").wait_for()
    assert (votes_on(server, request), json.loads(page.evaluate(KEPT))) == (["approve Fine.\nReally."], {})

    # The same vote again changes nothing, and is stored all the same.
    page.reload()
    again = card(page, request)
    again.get_by_placeholder("Message to the agent").fill("Fine.\nReally.")
    again.locator("button[data-key=a]").click()
    page.locator("#holds .toast-done", has_text="Stored: Approve, Pay the invoice?").wait_for()


def test_an_earlier_vote_is_not_taken_for_one_that_did_not_arrive(windows, server):
    windows.tolerate(" 502 ", "ERR_")
    request = Remote(server, "requester", ("ask", "read")).ask(**CALL)["id"]
    server.person("bob").decide(request, verdict="approve")
    page = held(windows, server.person("bob"), request, 1)
    card(page, request).locator(".votes-own").wait_for()
    page.clock.install()
    page.clock.pause_at(page.evaluate("Date.now() / 1000 + 60"))
    answers: list = []
    intercept(page, "**/decide/", lambda route: answers.append(route))
    card(page, request).get_by_placeholder("Message to the agent").fill("On second thoughts")
    card(page, request).locator("button[data-key=a]").click()
    page.clock.run_for(1_500)
    caught(page, answers).fulfill(status=502, body="Bad gateway")
    line = page.locator("#holds .toast")
    until(lambda: (page.clock.run_for(5_000), line.get_by_role("button", name="Discard").count())[1], "it is offered")
    expect(line.get_by_text("Your decision was not sent: Approve, Pay the invoice?.")).to_have_count(1)
    assert votes_on(server, request) == ["approve "]


#: Someone else goes away or is back, as an administrator says.
ABSENCE = """
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils import timezone
from approvals.actions.policy import absence as absences
from approvals.models import Absence
from approvals.states import Door

admin, bob, delegate = (User.objects.get(username=name) for name in ("admin", "bob", "approver"))
if {away}:
    until = timezone.now() + timedelta(days=1)
    absences.set_absence(bob, absences.Away(until=until, delegate=delegate), by=admin, via=Door.DASHBOARD)
else:
    absences.end_absence(Absence.objects.get().pk, by=admin, via=Door.DASHBOARD)
"""


def test_the_open_page_of_a_delegate_says_for_whom_they_vote_as_soon_as_someone_is_away(windows, server):
    request = Remote(server, "requester", ("ask", "read")).ask(**CALL)
    page = windows.open(server.person("approver"), f"/requests/{request['id']}/")
    approve = page.get_by_role("button", name="Approve", exact=True)
    page.get_by_text("This request is waiting for finance and security.").wait_for()
    expect(approve).to_have_count(0)
    # In another process: the sweep of the server finds it.
    server.run(ABSENCE.format(away=True))
    page.get_by_text("You vote for bob, who is away.").wait_for()
    expect(approve).to_have_count(1)
