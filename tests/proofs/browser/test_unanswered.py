"""Forms that the server refuses or does not answer show one error; without a connection the app says so."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.conftest import caught, intercept
from tests.proofs.browser.test_inbox import announced, opened, status
from tests.proofs.browser.test_live import card
from tests.support.machine import Remote
from tests.support.processes.server import until

pytestmark = pytest.mark.browser

STORED = """async () => {
    const shell = await caches.open("pausepoint-shell-1");
    return (await shell.keys()).map((request) => new URL(request.url).pathname).filter((path) => !path.startsWith("/static/"));
}"""
LOST = "The server does not respond. Try again in a moment. Nothing is decided twice."


def test_decision_that_could_not_be_sent_shows_one_error_and_can_be_repeated(windows, people):
    windows.tolerate("net::ERR_FAILED", "[object", "htmx:")
    _, request = people("requester").pause("Please refund order 951, 500 euros")
    page = windows.open(people("approver"), f"/requests/{request}/")
    intercept(page, "**/decide/", lambda route: route.abort())
    approve = card(page, request).get_by_role("button", name="Approve", exact=True)
    line = card(page, request).get_by_role("alert")
    for _ in range(3):
        with page.expect_event("requestfailed"):
            approve.click()
        expect(line).to_have_text([LOST])
    assert line.evaluate("line => line.nextElementSibling.matches('form.verdicts')")
    page.unroute("**/decide/")
    approve.click()
    card(page, request).locator(".outcome").wait_for()
    expect(line).to_have_count(0)
    expect(page.get_by_text(LOST)).to_have_count(0)


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_a_key_whose_decision_got_no_answer_stays_on_the_request_and_its_row_says_so(windows, people, server, size):
    windows.tolerate("net::ERR_FAILED", "[object", "htmx:")
    remote = Remote(server, "requester", ("ask", "read"))
    word = f"unanswered{size[0]}"
    # Earlier decisions on the tool make the card longer than the window.
    for _ in range(5):
        people("approver").decide(remote.ask(title="Earlier?", tool_name="pay")["id"], verdict="approve")
    first, second = (remote.ask(title=f"{name} {word}?", tool_name="pay")["id"] for name in ("First", "Second"))
    page = windows.open(people("approver"), f"/?q={word}#{first}", viewport={"width": size[0], "height": size[1]})
    opened(page, first)
    intercept(page, "**/decide/", lambda route: route.abort())
    page.keyboard.press("a")
    line = card(page, first).get_by_role("alert")
    expect(line).to_have_text(LOST)
    # It has been scrolled into view.
    expect(line).to_be_in_viewport()
    note = page.locator(f"#row-{first} .row-unanswered")
    expect(note).to_have_text("No answer to your decision")
    # Nothing has moved on, and the next key does not send it again by accident.
    assert page.evaluate("window.pausepoint.pane.current()") == first
    page.keyboard.press("a")
    announced(page, "Read the message on this page, then press the button.")
    assert status(server, first) == "pending"

    page.unroute("**/decide/")
    page.keyboard.press("Enter")
    opened(page, second)
    assert status(server, first) == "approved"
    expect(note).to_have_count(0)
    expect(page.locator("#holds .toast")).to_have_count(0)


def test_a_decision_without_an_answer_is_said_also_where_its_request_is_not_in_view_any_more(windows, people, server):
    windows.tolerate("net::ERR_FAILED", "[object", "htmx:")
    remote = Remote(server, "requester", ("ask", "read"))
    first, second = (remote.ask(title=f"{name} overtaken?", tool_name="pay")["id"] for name in ("First", "Second"))
    page = windows.open(people("approver"), f"/?q=overtaken#{first}")
    opened(page, first)
    calls: list = []
    intercept(page, "**/decide/", lambda route: calls.append(route))
    page.keyboard.press("a")
    call = caught(page, calls)
    page.keyboard.press("j")
    opened(page, second)
    call.abort()
    line = page.locator("#holds .toast-alert")
    line.get_by_text("The server did not answer your decision, so it may not be stored: First overtaken?.").wait_for()
    expect(page.locator(f"#row-{first} .row-unanswered")).to_have_text("No answer to your decision")
    line.get_by_role("button", name="Open it").click()
    opened(page, first)
    card(page, first).get_by_role("alert").wait_for()
    expect(line).to_have_count(0)


def test_server_error_is_shown_once_for_repeated_presses(windows, people):
    windows.tolerate(" 503 ", "[object", "htmx:")
    _, request = people("requester").pause("Please refund order 952, 500 euros")
    page = windows.open(people("approver"), f"/requests/{request}/")
    sent = people("approver")
    absent = sent.send(
        "POST",
        "/requests/00000000-0000-0000-0000-000000000000/decide/",
        f"csrfmiddlewaretoken={sent.cookies['csrftoken']}",
        {"HX-Request": "true", "Content-Type": "application/x-www-form-urlencoded"},
    )
    assert absent.headers["hx-reswap"] == "beforebegin"
    intercept(
        page,
        "**/decide/",
        lambda route: route.fulfill(
            status=503, headers={"HX-Reswap": "beforebegin", "Content-Type": "text/html"}, body=absent.text
        ),
    )
    approve = card(page, request).get_by_role("button", name="Approve", exact=True)
    approve.press("Enter")
    line = page.locator("p.refusal:focus")
    line.wait_for()
    for _ in range(2):
        with page.expect_response("**/decide/"):
            approve.click()
        page.locator("p.refusal").wait_for()
        line.wait_for()
    expect(page.locator("p.refusal")).to_have_count(1)
    page.unroute("**/decide/")
    approve.click()
    card(page, request).locator(".outcome").wait_for()
    expect(page.locator("p.refusal")).to_have_count(0)


def test_message_is_copied_to_the_edit_form_until_it_is_changed(windows, people, server):
    agent = Remote(server, "requester", ("ask", "read"))
    requests = [agent.ask(input={"amount": 120}, tool_call_id=f"carried-{number}")["id"] for number in range(3)]
    sent = []
    for request, own in zip(requests, (None, "Another reason", ""), strict=True):
        page = windows.open(people("approver"), f"/requests/{request}/")
        shown = card(page, request)
        first = shown.get_by_placeholder("Message to the agent")
        first.fill("Half")
        shown.get_by_role("link", name="Edit…").click()
        box = shown.locator("details.edit textarea[name=comment]")
        expect(box).to_have_value("Half")
        # While the edit form is open, its own button stays in view instead of the bar with the other message.
        expect(first).to_be_hidden()
        shown.locator("details.edit > summary").click()
        first.fill("Half of it came back")
        shown.get_by_role("link", name="Edit…").click()
        shown.get_by_label("amount").fill("60")
        if own is not None:
            box.fill(own)
        shown.get_by_role("button", name="Review changes").click()
        shown.get_by_role("button", name="Approve with changes").click()
        shown.locator(".outcome").wait_for()
        sent.append(
            server.value("SELECT comment FROM approvals_decision WHERE request_id = ?", request.replace("-", ""))
        )
    assert sent == ["Half of it came back", "Another reason", ""]


def test_without_a_connection_the_app_shows_a_page_and_has_stored_nothing_else(windows, people):
    windows.tolerate("ERR_INTERNET_DISCONNECTED", "WebSocket", "net::ERR")
    _, request = people("requester").pause("Please refund order 961, 500 euros")
    page = windows.open(people("approver"), f"/requests/{request}/", service_workers="allow")
    page.evaluate("async () => { await navigator.serviceWorker.ready; }")
    page.reload()
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    page.context.set_offline(True)

    def is_offline() -> bool:
        page.reload()
        return page.get_by_text("No connection").count() > 0

    # The worker of the page may learn it a moment later.
    until(is_offline, "the page has no connection")
    expect(page.get_by_role("heading", level=1)).to_have_text("No connection")
    expect(page.locator(".bar nav, .who")).to_have_count(0)
    expect(page.locator(".problem").first).to_have_css("max-width", "560px")
    assert page.evaluate(STORED) == ["/offline/"]
    page.context.set_offline(False)
    page.reload()
    page.get_by_role("button", name="Approve", exact=True).wait_for()
