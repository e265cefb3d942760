"""Approve for a while: give a grant, see the calls that run unasked, use it, revoke it, and ask about everything."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.conftest import caught, intercept
from tests.proofs.browser.places import violations
from tests.proofs.browser.test_inbox import opened
from tests.proofs.browser.test_inbox import status as status_of
from tests.proofs.browser.test_live import card
from tests.support.machine import Remote
from tests.support.processes.server import until

pytestmark = pytest.mark.browser

CALL = {
    "title": "Send the report?",
    "tool_name": "sendReport",
    "input": {"to": "team", "month": 11},
    "agent": "reporter",
}


def press(page, name: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).click()


def status(remote: Remote) -> str:
    return str(remote.ask(**CALL)["status"])


def test_a_grant_is_given_with_a_key_seen_used_revoked_and_stopped(windows, people, server, axe):
    remote = Remote(server, "requester", ("ask", "read"))
    first = remote.ask(**CALL)
    page = windows.open(people("approver"), f"/requests/{first['id']}/")

    # Give: the panel opens with a key, explains the terms as they change, and approves.
    page.locator("#detail-title").click()
    page.keyboard.press("Shift+A")
    title = page.get_by_role("heading", name="Approve this, and let more run without asking")
    title.wait_for()
    expect(title).to_be_focused()
    assert violations(page, axe) == {}
    sentence = page.locator(".grant-sentence")
    assert sentence.inner_text().startswith(
        "For this API key (requested by requester), calls of sendReport with this exact input run without asking, until"
    )
    page.get_by_label("After the maximum uses").check()
    page.get_by_role("textbox", name="Maximum uses").fill("2")
    page.locator(".grant-sentence", has_text="at most 2 times").wait_for()
    page.get_by_role("button", name="Approve and grant").click()
    page.locator(".outcome").wait_for()

    # Use: the same call does not ask, and says why.
    assert status(remote) == "approved"
    page.goto(server.address + "/settings/grants/")
    row = page.locator(".row.grant", has_text="sendReport")
    expect(row).to_contain_text("used 1 time")
    assert violations(page, axe) == {}
    with page.expect_navigation():
        row.get_by_role("link").first.click()
    assert violations(page, axe) == {}
    with page.expect_navigation():
        page.get_by_role("link", name="Send the report?").click()
    expect(page.locator(".outcome")).to_contain_text("Approved by grant of approver (use 1 of 2)")

    # Stop all: every page says so, and the same call waits.
    page.goto(server.address + "/settings/grants/")
    page.get_by_text("Ask about everything…").click()
    press(page, "Ask about everything")
    page.goto(server.address + "/")
    page.locator(".ask-banner", has_text="Ask about everything is on").wait_for()
    assert violations(page, axe) == {}
    assert status(remote) == "pending"
    page.goto(server.address + "/settings/grants/")
    press(page, "Use grants again")
    expect(page.locator(".ask-banner")).to_have_count(0)

    # Revoke: the grant is among the ended ones, and the same call waits.
    with page.expect_navigation():
        page.locator(".row.grant", has_text="sendReport").get_by_role("button").click()
    expect(page.locator(".row.grant", has_text="sendReport")).to_have_count(0)
    assert status(remote) == "pending"


@pytest.mark.parametrize("changes", [False, True])
def test_the_panel_opens_though_its_request_is_shown_anew_meanwhile_but_not_one_that_changed(
    windows, people, server, changes
):
    remote = Remote(server, "requester", ("ask", "read"))
    request = remote.ask(**CALL | {"tool_name": f"sendNote{changes}"})["id"]
    page = windows.open(people("approver"), f"/requests/{request}/")
    shown = card(page, request)
    page.locator("#detail-title").click()
    # The server has answered, and its answer is on its way.
    answers = []
    intercept(page, "**/grant/**", lambda route: answers.append((route, route.fetch())))
    page.keyboard.press("Shift+A")
    route, answer = caught(page, answers)
    shown.evaluate("one => { one.dataset.old = ''; }")
    if changes:
        people("admin").decide(request, verdict="reject")
    else:
        people("admin").post(f"/requests/{request}/assign/", to="approver")
    page.locator(f"#request-{request}:not([data-old])").wait_for()
    with page.expect_response("**/grant/**"):
        route.fulfill(response=answer)
    title = shown.get_by_role("heading", name="Approve this, and let more run without asking")
    if changes:
        assert shown.locator(".outcome b").all_inner_texts()[:2] == ["Rejected", "admin"]
        assert title.count() == 0
    else:
        title.wait_for()


def test_without_scripts_the_panel_is_a_page(windows, people, server):
    remote = Remote(server, "requester", ("ask", "read"))
    request = remote.ask(**CALL | {"tool_name": "sendLetter"})
    page = windows.open(people("approver"), f"/requests/{request['id']}/", java_script_enabled=False)
    with page.expect_navigation():
        page.get_by_role("link", name="Approve for…").click()
    page.get_by_label("Any input").check()
    press(page, "Show what this means")
    assert (
        page.locator(".grant-sentence")
        .inner_text()
        .startswith("For this API key (requested by requester), calls of sendLetter with any input run")
    )
    press(page, "Approve and grant")
    assert page.locator(".outcome b").all_inner_texts()[:2] == ["Approved", "approver"]
    assert remote.ask(**CALL | {"tool_name": "sendLetter", "input": {"to": "Jane"}})["status"] == "approved"


LABEL = {
    "title": "Create the label?",
    "tool_name": "createLabel",
    "agent": "labeler",
    "message": "It is missing. " * 40,
}
#: Whether an element is within the window, and not behind the bar with the buttons or the header.
IN_VIEW = """element => {
    const { top, bottom, left } = element.getBoundingClientRect();
    const over = (y) => document.elementFromPoint(left + 5, y);
    return top >= 0 && bottom <= innerHeight && [top + 2, bottom - 2].every((y) => element.contains(over(y)));
}"""


def in_view(place) -> bool:
    return place.evaluate(IN_VIEW)


# Below 900 pixels, the pane shows a request as its page does.
@pytest.mark.parametrize(
    ("where", "width", "height"), [("pane", 1440, 900), ("pane", 1024, 700), ("page", 1440, 900), ("page", 390, 844)]
)
def test_the_terms_stand_beside_the_input_and_what_they_mean_above_the_button(
    windows, people, server, axe, width, height, where
):
    remote = Remote(server, "requester", ("ask", "read"))
    tool = f"createLabel{where}{width}"
    rejected, first, *others = (
        remote.ask(**LABEL | {"tool_name": tool, "input": {"name": f"label {number}"}})["id"] for number in range(4)
    )
    people("approver").decide(rejected, verdict="reject")
    path = f"/?tool={tool}#{first}" if where == "pane" else f"/requests/{first}/"
    page = windows.open(people("approver"), path, viewport={"width": width, "height": height})
    shown = card(page, first)
    shown.locator("[data-grants]").wait_for()
    if where == "pane":
        opened(page, first)
    page.keyboard.press("Shift+A")
    title = page.get_by_role("heading", name="Approve this, and let more run without asking")
    title.wait_for()
    value = shown.locator(".input td", has_text="label 1")
    # The title takes the focus, and the page scrolls to it.
    until(lambda: in_view(title) and in_view(value), "the title and the value are in view")
    terms = shown.locator(".grant-covers")
    box, beside = value.bounding_box(), terms.bounding_box()
    if width > 1200:
        assert beside["x"] > box["x"] + box["width"], "beside the input"
    page.get_by_label("Any input").check()
    sentence = shown.locator(".grant-sentence", has_text="with any input")
    sentence.wait_for()
    button = page.get_by_role("button", name="Approve and grant")
    warning = shown.locator(".grant-warning > summary")
    also = shown.locator(".grant-also > summary")
    expect(warning).to_have_text("1 request that this would have approved in the last 30 days was rejected.")
    expect(also).to_have_text("2 waiting requests are covered, too. After this, you can approve them together.")
    until(
        lambda: all(map(in_view, (button, sentence, warning, also))), "what the terms mean is in view, above the button"
    )
    assert violations(page, axe) == {}
    page.set_viewport_size({"width": width, "height": height})

    # Escape closes it, and the focus is where it was opened; unsaved text is kept.
    page.keyboard.press("Escape")
    link = shown.locator("[data-grants]:focus")
    link.wait_for()
    link.press("Enter")
    page.get_by_role("textbox", name="Maximum uses").fill("7")
    page.keyboard.press("Escape")
    expect(page.get_by_role("textbox", name="Maximum uses")).to_have_value("7")
    page.get_by_label("Any input").check()
    sentence.wait_for()
    # With real keys: where a script moves the focus out of a field, the next key is taken for the rest of a sentence.
    button.focus()
    for key in ("Tab", "Shift+Tab", "Enter"):
        page.keyboard.press(key)
    outcome = shown.locator(".outcome", has_text="2 requests that the grant covers are still waiting")
    outcome.wait_for()
    # The pane stays on it, and leads to the page that shows them side by side; nothing else was decided.
    until(lambda: in_view(outcome.get_by_role("button")), "the way to the others is in view")
    assert [status_of(server, request) for request in others] == ["pending"] * 2
    outcome.get_by_role("button", name="Review and approve these 2…").press("Enter")
    page.wait_for_url("**/bulk/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Approve 2 requests?")
    assert [status_of(server, request) for request in others] == ["pending"] * 2
