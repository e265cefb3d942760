"""Kept in the browser for a person: held decisions until they are stored, and text overtaken by another decision."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.conftest import caught, intercept
from tests.proofs.browser.places import LIVE
from tests.proofs.browser.test_deliberate_decisions import FOLDED, HOLD, LONG, LONG_HOLD, held
from tests.proofs.browser.test_inbox import announced, opened, status
from tests.proofs.browser.test_live import card
from tests.support.machine import Remote
from tests.support.processes.server import until

pytestmark = pytest.mark.browser

LINK = """
from pathlib import Path
from django.contrib.auth.models import User
from approvals.models import ApprovalRequest
from approvals.outbound.links import confirm_link
from approvals.states import Verdict
person, request = User.objects.get(username="approver"), ApprovalRequest.objects.get(pk="{request}")
Path("{place}").write_text(confirm_link(request, person, Verdict.APPROVE))
"""
#: The held decisions that the browser keeps, as JSON.
KEPT = "localStorage.getItem(`pausepoint.held.${document.body.dataset.person}`)"


@pytest.fixture
def ask(server):
    remote = Remote(server, "requester", ("ask", "read"))
    return lambda title="Pay?", **changes: remote.ask(
        title=title, tool_name="pay", **{"input": {"amount": 5}} | changes
    )["id"]


def log_in(page) -> None:
    page.fill("#id_username", "approver")
    page.fill("#id_password", "pausepoint")
    page.click("main button")
    page.wait_for_selector(LIVE)


def test_a_log_out_sends_what_is_held_first_and_leaves_nothing_in_the_browser(windows, server, ask):
    request = ask()
    page = held(windows, server.person("approver"), request, LONG_HOLD)
    card(page, request).locator("button[data-key=a]").click()
    page.locator("#holds .toast").get_by_role("button", name="Undo").wait_for()
    page.locator(".user").click()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login/")
    assert status(server, request) == "approved"
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('pausepoint.held'))") == []


def test_a_decision_that_could_not_be_sent_is_sent_after_the_next_log_in(windows, server, ask):
    windows.tolerate(" 401 ")
    request = ask()
    page = held(windows, server.person("approver"), request, 1)
    page.context.clear_cookies(name="sessionid")
    card(page, request).locator("button[data-key=a]").click()
    line = page.locator("#holds .toast")
    line.get_by_text("Your decision was not sent: Approve, Pay?.").wait_for()
    assert status(server, request) == "pending"
    page.reload()
    log_in(page)
    line.get_by_text("A decision from an earlier visit was not sent: Approve, Pay?.").wait_for()
    line.get_by_role("button", name="Send now").click()
    card(page, request).locator(".outcome").wait_for()
    assert status(server, request) == "approved"


def test_a_decision_that_arrived_when_its_page_was_left_long_ago_is_not_called_unsent(windows, people, ask):
    bob = people("approver")
    stored, waiting = ask("Pay the first?"), ask("Pay the second?")
    bob.decide(stored, verdict="approve")
    page = windows.open(bob, "/insights/")
    entries = {
        id_: {
            "id": id_,
            "action": f"/requests/{id_}/decide/",
            "body": "",
            "title": title,
            "words": "Approve",
            "at": 0,
            "sending": True,
        }
        for id_, title in ((stored, "Pay the first?"), (waiting, "Pay the second?"))
    }
    page.evaluate(f"kept => {KEPT.replace('getItem(', 'setItem(')[:-1]}, kept)", json.dumps(entries))
    page.reload()
    lines = page.locator("#holds .toast")
    lines.get_by_text("Pay the first?: Approved by approver").wait_for()
    lines.get_by_text("A decision from an earlier visit was not sent: Approve, Pay the second?.").wait_for()
    assert list(json.loads(page.evaluate(KEPT))) == [waiting]


def test_text_that_somebody_overtook_becomes_a_note_of_its_own_request(windows, people, server, ask):
    word = f"notes{ask()[:8]}"
    first, second = ask(f"First {word}?"), ask(f"Second {word}?")
    page = windows.open(people("approver"), f"/?q={word}#{first}")
    of = lambda request: page.locator(f"#detail-body #request-{request}")  # noqa: E731
    of(first).get_by_placeholder("Message to the agent").fill("About the first.")
    page.locator(f"#row-{second} .row-title").click()
    of(second).wait_for()
    people("admin").decide(first, verdict="reject")
    page.locator(f"#row-{first}.is-rejected").wait_for()
    page.locator("#detail-body").get_by_role("tab", name="Notes").click()
    page.locator("#detail-body .new-note textarea").fill("About the second.")
    page.locator(f"#row-{first} .row-title").click()
    of(first).wait_for()
    page.locator(f"#detail-body #kept-{first}").get_by_role("button", name="Use as internal note").click()
    expect(page.locator("#detail-body .new-note textarea")).to_have_value("About the first.")
    page.locator(f"#row-{second} .row-title").click()
    of(second).wait_for()
    expect(page.locator("#detail-body .new-note textarea")).to_have_value("About the second.")


def test_parts_that_were_opened_on_the_page_of_a_mail_count_as_seen(windows, people, server, ask, tmp_path):
    request = ask(**FOLDED, message="Because. " * 200, context={"customer": "Ada"})
    server.run(LINK.format(request=request, place=tmp_path / "link"))
    address = (tmp_path / "link").read_text()
    page = windows.open(people("approver"), address[address.index("/requests/") :])
    page.get_by_text("20 more values").click()
    page.get_by_text("all 5,000 characters").click()
    page.get_by_text("The whole message").click()
    # Not the wheel, of which a slow machine does several turns at once.
    for down in (-9_000, *[300] * 20):
        page.evaluate("down => scrollBy({ top: down, behavior: 'instant' })", down)
        page.evaluate("() => new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))")
    page.get_by_role("button", name="Approve", exact=True).click()
    page.locator(".outcome").wait_for()
    assert status(server, request) == "approved"


def test_the_snooze_key_acts_on_the_selected_row_and_says_which(windows, people, ask):
    word = f"snooze{ask()[:8]}"
    first, second = ask(f"First {word}?"), ask(f"Second {word}?")
    page = windows.open(people("approver"), f"/?q={word}#{first}")
    page.locator(f"#detail-body #request-{first}").wait_for()
    page.locator(f"#row-{second} .row-title").focus()
    page.keyboard.press("h")
    expect(page.locator("#snooze-request")).to_have_text(f"Second {word}?")
    page.keyboard.press("1")
    page.locator(f"#row-{second}").wait_for(state="detached")
    expect(page.locator(f"#row-{first}")).to_have_count(1)


def test_a_decision_whose_answer_is_slow_or_broken_is_looked_up_and_never_offered_for_discarding(windows, server, ask):
    windows.tolerate("ERR_", " 502 ")
    slow, broken = ask("Pay the slow one?"), ask("Pay the broken one?")
    page = held(windows, server.person("approver"), slow, 1)
    # Time stands still but where it is moved on: a slow machine would skip a state.
    page.clock.install()
    page.clock.pause_at(page.evaluate("Date.now() / 1000 + 60"))
    answers = []
    intercept(page, "**/decide/", lambda route: answers.append(route))
    line = page.locator("#holds .toast")
    card(page, slow).locator("button[data-key=a]").click()
    page.clock.run_for(1_500)
    line.get_by_text("Sending: Approve, Pay the slow one?").wait_for()
    answer = caught(page, answers)
    page.clock.run_for(6_000)
    line.get_by_text("Not known yet whether your decision was stored: Approve, Pay the slow one?.").wait_for()
    expect(line.get_by_role("button")).to_have_text(["Send again"])
    answer.continue_()
    line.get_by_text("Stored: Approve, Pay the slow one?", exact=True).wait_for()
    assert (status(server, slow), json.loads(page.evaluate(KEPT))) == ("approved", {})

    # A proxy answers in place of the server, which has stored it all the same.
    page = held(windows, server.person("approver"), broken, 1)
    intercept(page, "**/decide/", lambda route: (route.fetch(), route.fulfill(status=502, body="Bad gateway")))
    card(page, broken).locator("button[data-key=a]").click()
    page.locator("#holds .toast").get_by_text("Pay the broken one?: Approved by approver").wait_for()
    assert (status(server, broken), json.loads(page.evaluate(KEPT))) == ("approved", {})


def test_a_decision_of_a_killed_page_is_offered_and_each_tab_keeps_its_own(windows, server, ask):
    first, second = ask("Pay the killed one?"), ask("Pay twice?")
    page = held(windows, server.person("approver"), second, LONG_HOLD)
    killed = {
        "key": "1",
        "id": first,
        "action": f"/requests/{first}/decide/",
        "body": "",
        "title": "Pay the killed one?",
    }
    killed |= {"words": "Approve", "state": "held", "until": 0}
    page.evaluate(f"kept => {KEPT.replace('getItem(', 'setItem(')[:-1]}, kept)", json.dumps({"1": killed}))
    page.get_by_text("A decision from an earlier visit was not sent: Approve, Pay the killed one?.").wait_for()
    page.get_by_role("button", name="Discard").click()
    other = page.context.new_page()
    other.add_init_script(f"document.addEventListener('readystatechange', () => {{ {HOLD.format(LONG_HOLD)} }})")
    other.goto(page.url)
    for tab in (page, other):
        card(tab, second).locator("button[data-key=a]").click()
        tab.get_by_role("button", name="Undo").wait_for()
    page.get_by_role("button", name="Undo").click()
    # The storage of one tab reaches the other a moment later.
    other.wait_for_function(f"() => Object.keys(JSON.parse({KEPT})).length === 1")
    # A log-out in one tab leaves nothing behind, and the other shows it.
    page.locator(".user").click()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login/")
    other.get_by_text("You logged out, so your decision was not sent: Approve, Pay twice?.").wait_for()
    kept = "Object.keys(localStorage).filter((key) => key.startsWith('pausepoint.held'))"
    assert (other.evaluate(kept), status(server, second)) == ([], "pending")


def test_undo_opens_the_request_again_and_held_rows_are_left_out(windows, people, server, ask):
    word = f"undo{ask()[:8]}"
    first, second, third = (ask(f"{name} {word}?") for name in ("First", "Second", "Third"))
    page = held(windows, people("approver"), first, LONG_HOLD)
    page.goto(f"{server.address}/?q={word}#{first}")
    page.wait_for_selector(LIVE)
    place, row = page.locator("#detail-place"), page.locator(f"#row-{first}")
    opened(page, first)
    expect(place).to_have_text("1 of 3")
    page.keyboard.press("a")
    opened(page, second)
    expect(row).to_have_attribute("data-held", "")
    page.keyboard.press("j")
    opened(page, third)
    page.keyboard.press("k")
    opened(page, second)
    page.keyboard.press("k")
    announced(page, "This is the first request on this page.")
    page.keyboard.press("u")
    opened(page, first)
    expect(row).not_to_have_attribute("data-held", "")
    expect(place).to_have_text("1 of 3")
    people("admin").decide(second, verdict="reject")
    page.locator(f"#row-{second}.is-rejected").wait_for()
    page.locator(f"#row-{first} .row-title").focus()
    page.keyboard.press("j")
    opened(page, third)
    # Another order keeps the open request; the palette forgives a slip, and puts this page's commands first.
    page.keyboard.press("s")
    page.wait_for_url(f"**sort=deadline*#{third}")
    opened(page, third)
    page.keyboard.press("Control+k")
    first_of = page.locator(".palette-label").first
    expect(first_of).to_have_text("Approve")
    for typed, label in (("aprove", "Approve"), ("wflow", "Workflows"), ("theme dark", "Theme: Dark")):
        page.locator(".palette input").fill(typed)
        expect(first_of).to_have_text(label)


def test_what_was_typed_and_folded_is_there_again_on_the_next_visit(windows, people, ask):
    windows.tolerate(" 422 ")
    request = ask(input=LONG)
    page = windows.open(people("approver"), f"/requests/{request}/")
    shown = card(page, request)
    shown.get_by_placeholder("Message to the agent").fill("Half a thought")
    summary = shown.locator("details.branch > summary").first
    summary.focus()
    page.keyboard.press("ArrowLeft")
    until(lambda: page.evaluate("localStorage.getItem('pausepoint.folds') ?? ''").count("pay/rows"), "the fold")
    page.reload()
    page.wait_for_selector(LIVE)
    expect(shown.get_by_placeholder("Message to the agent")).to_have_value("Half a thought")
    expect(shown.locator("details.branch").first).not_to_have_attribute("open", "")
    # Content folded in this browser is not in view.
    shown.locator("button[data-key=a]").click()
    shown.get_by_text("You haven't seen 20 values yet.").wait_for()
    shown.locator("button[data-key=a]").click()
    shown.locator(".outcome").wait_for()
    assert page.evaluate("Object.values(localStorage).join()").count("Half a thought") == 0
