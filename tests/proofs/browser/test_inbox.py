"""The inbox in a browser: keyboard shortcuts, live updates and bulk decisions."""

from __future__ import annotations

import itertools
import json

import pytest

pytestmark = pytest.mark.browser

#: Each test asks for orders of its own, and looks at those only.
batches = itertools.count(1)
ASK = """
from django.contrib.auth.models import User
from approvals import actions
from approvals.asking.asks import Ask
from approvals.states import Kind, Priority
owner = User.objects.get(username="requester")
workflow = actions.open_workflow(scope="key:9", key="{word}", title="By itself", source="api", owner=owner)
ask = Ask(kind=Kind.{kind}, title="Drop {word}", tool_name="dropTable", input={{"table": "{word}"}}, priority=Priority.{priority})
actions.request_approval(workflow, ask, requested_by=owner)
"""


@pytest.fixture
def asked(people):
    """Return a unique word, and a function that asks for a refund with it and returns the request's id."""
    word = f"batch{next(batches)}"
    numbers = itertools.count(1)
    return word, lambda: people("requester").pause(f"Please refund order {word}-{next(numbers)}, 500 euros")[1]


def row(page, request: str):
    return page.locator(f"#row-{request}")


def status(server, request: str) -> str:
    return server.value("SELECT status FROM approvals_approvalrequest WHERE id = ?", request.replace("-", ""))


def marked(page) -> str:
    """Return the id of the request that contains the focus."""
    return page.evaluate("document.activeElement.closest('.inbox-row')?.id.replace('row-', '') ?? ''")


#: Finds an announcement and forgets it with those before it, so that each is found once.
HEARD = """words => {
  const place = window.announcements.findIndex(text => text.includes(words));
  if (place >= 0) window.announcements.splice(0, place + 1);
  return place >= 0;
}"""


def announced(page, words: str) -> None:
    """Wait until this is announced; other announcements may come before or after it."""
    page.wait_for_function(HEARD, arg=words)


def outcome(page, request: str):
    return row(page, request).locator(".inbox-card .outcome p").first


def tops(page) -> list[float]:
    return page.evaluate("[...document.querySelectorAll('.inbox-row')].map(one => one.getBoundingClientRect().top)")


def test_three_requests_are_decided_by_keyboard(windows, people, server, asked):
    word, ask = asked
    first, second, third = ask(), ask(), ask()
    page = windows.open(people("approver"), f"/requests/?q={word}")
    page.keyboard.press("a")
    announced(page, "No request is selected. Press j first.")
    page.keyboard.press("j")
    assert marked(page) == first
    page.keyboard.press("a")
    announced(page, "Opened. Read it, then press a to approve it.")
    assert status(server, first) == "pending"
    page.keyboard.press("a")
    outcome(page, first).wait_for()
    assert outcome(page, first).inner_text().startswith("Approved by approver")
    page.keyboard.press("j")
    row(page, second).locator(".inbox-card .request").wait_for()
    assert (marked(page), row(page, first).locator(".inbox-card .request").count()) == (second, 0)
    page.keyboard.press("c")
    page.keyboard.type("not a, not r: just j and x")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    outcome(page, second).wait_for()
    page.keyboard.press("j")
    row(page, third).locator(".inbox-card .request").wait_for()
    page.keyboard.press("e")
    page.keyboard.press("Control+a")
    page.keyboard.type("450")
    page.keyboard.press("Escape")
    assert [status(server, one) for one in (first, second, third)] == ["approved", "rejected", "pending"]
    page.keyboard.press("k")
    assert marked(page) == second
    decided = server.value("SELECT comment FROM approvals_decision WHERE request_id = ?", second.replace("-", ""))
    assert decided == "not a, not r: just j and x"
    assert row(page, first).locator(".row-gist").inner_text().startswith("Approved by approver")


def test_shortcuts_can_be_turned_off(windows, people, asked):
    word, ask = asked
    request = ask()
    page = windows.open(people("approver"), f"/requests/?q={word}")
    page.keyboard.press("?")
    page.get_by_label("Use keyboard shortcuts in this browser").uncheck()
    page.get_by_role("button", name="Close").click()
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("/")
        assert marked(page) == ""
        page.reload()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_label("Use keyboard shortcuts in this browser").check()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "filter-q"
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("x")
    assert (marked(page), page.locator("#bulk-count").inner_text()) == (request, "1 selected")


def test_raw_json_has_a_shortcut(windows, people, asked):
    word, ask = asked
    request = ask()
    page = windows.open(people("approver"), f"/requests/?q={word}")
    page.keyboard.press("j")
    page.keyboard.press("v")
    raw = row(page, request).locator("pre")
    page.locator(".raw pre:focus").wait_for()
    assert json.loads(raw.inner_text()) == {"amount": 500, "orderId": f"{word}-1"}
    page.keyboard.press("v")
    raw.wait_for(state="hidden")
    assert marked(page) == request


def test_request_page_is_decided_by_keyboard(windows, people, server, asked):
    request = asked[1]()
    page = windows.open(people("approver"), f"/requests/{request}/")
    page.keyboard.press("v")
    page.locator(".raw pre:focus").wait_for()
    page.keyboard.press("c")
    page.keyboard.type("a reason, not r")
    page.keyboard.press("Escape")
    assert status(server, request) == "pending"
    page.keyboard.press("r")
    page.locator(".outcome:focus").wait_for()
    assert page.locator(".outcome blockquote").inner_text() == "a reason, not r"
    page.keyboard.press("a")
    announced(page, "There is nothing to decide here.")
    assert status(server, request) == "rejected"


def test_key_does_nothing_right_after_a_change(windows, people, server, asked):
    request = asked[1]()
    page = windows.open(people("admin"), f"/requests/{request}/")
    people("approver").decide(request, verdict="reject")
    page.locator(".outcome").wait_for()
    page.keyboard.press("a")
    announced(page, "This request has just changed. Look at it, then press again.")
    assert status(server, request) == "rejected"


def test_decision_elsewhere_updates_the_row_and_blocks_the_next_key(windows, people, server, asked):
    word, ask = asked
    first, second = ask(), ask()
    page = windows.open(people("admin"), f"/requests/?q={word}")
    before = tops(page)
    page.keyboard.press("j")
    people("approver").decide(first, verdict="reject", comment="A long story. " * 40)
    gist = row(page, first).locator(".row-gist")
    gist.get_by_text("approver").wait_for()
    assert gist.inner_text().startswith("Rejected by approver")
    assert (tops(page), marked(page)) == (before, first)
    page.keyboard.press("x")
    announced(page, "This request has just changed. Look at it, then press again.")
    page.keyboard.press("x")
    announced(page, "This request cannot be selected.")
    page.keyboard.press("j")
    assert (marked(page), status(server, second)) == (second, "pending")


def test_new_requests_are_inserted_on_request(windows, people, asked):
    word, ask = asked
    first = ask()
    page = windows.open(people("approver"), f"/requests/?q={word}")
    page.keyboard.press("j")
    before = tops(page)
    second = ask()
    show = page.get_by_role("button", name="Show 1 new request")
    show.wait_for()
    third = ask()
    show = page.get_by_role("button", name="Show 2 new requests")
    show.wait_for()
    assert (tops(page)[:1], marked(page), page.locator(".inbox-list .inbox-row").count()) == (before, first, 1)
    assert page.locator("#inbox-count").inner_text() == "3 waiting"
    show.click()
    assert page.locator(".inbox-list .inbox-row").count() == 3
    assert marked(page) == second
    page.keyboard.press("j")
    assert marked(page) == third
    # Requests that do not match the filters are not announced.
    people("requester").pause("Please refund order elsewhere, 500 euros")
    people("approver").decide(third, verdict="reject")
    row(page, third).locator(".row-gist", has_text="approver").wait_for()
    assert show.is_hidden()


def test_critical_request_asks_for_its_name(windows, people, server, asked):
    windows.tolerate(" 422 ")
    word, _ = asked
    server.run(ASK.format(word=word, kind="APPROVAL", priority="CRITICAL"))
    page = windows.open(people("approver"), f"/requests/?q={word}")
    card = page.locator(".inbox-card .request")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    card.wait_for()
    page.keyboard.press("a")
    assert page.evaluate("document.activeElement.name") == "typed_name"
    page.keyboard.type("droptable")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    announced(page, "Critical: press the button to decide it.")
    page.keyboard.press("Enter")
    card.locator(".field-error", has_text="Type exactly this: dropTable").wait_for()
    card.get_by_label("Critical: type dropTable to approve").first.fill("dropTable")
    card.get_by_role("button", name="Approve", exact=True).click()
    assert card.locator(".outcome p").first.inner_text().startswith("Approved by approver")


def test_no_key_decides_an_unknown_outcome(windows, people, server):
    word = f"batch{next(batches)}"
    server.run(ASK.format(word=word, kind="RECOVERY", priority="NORMAL"))
    page = windows.open(people("approver"), f"/requests/?q={word}")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Run again").wait_for()
    for key in ("a", "r"):
        page.keyboard.press(key)
        announced(page, "Choose one of the answers on the card.")
        page.keyboard.press("Escape")
        page.evaluate("document.getElementById('announcements').textContent = ''")
    assert page.locator(".inbox-card .verdicts").is_visible()


@pytest.mark.parametrize("scripted", [True, False], ids=["javascript", "plain"])
def test_bulk_decision_shows_each_outcome(windows, people, server, asked, scripted):
    word, ask = asked
    requests = [ask() for _ in range(3)]
    page = windows.open(people("approver"), f"/requests/?q={word}", java_script_enabled=scripted)
    for request in requests:
        row(page, request).get_by_role("checkbox").check()
    if scripted:
        assert page.locator("#bulk-count").inner_text() == "3 selected"
    page.get_by_label("Message to the agent, for all of them").fill("All the same.")
    page.locator("#bulk").get_by_role("button", name="Approve…").click()
    assert page.locator("h1").inner_text() == "Approve 3 requests?"
    assert page.locator(".bulk-tool h2").inner_text().split() == ["3", "issueRefund"]
    assert page.locator(".bulk-sums").inner_text().split() == ["Sum", "of", "amount", "1,500", "3", "values"]
    people("admin").decide(requests[1], verdict="reject")
    page.get_by_role("button", name="Approve 3 requests").click()
    assert page.locator("h1").inner_text().startswith("2 requests approved")
    words = page.locator(".bulk-table tbody td:last-child").all_inner_texts()
    assert (words[0], words[1].rstrip("."), words[2]) == (
        "Approved.",
        "This request was rejected just now by admin",
        "Approved.",
    )
    assert [status(server, one) for one in requests] == ["approved", "rejected", "approved"]
    page.get_by_role("link", name="Back to the inbox").click()
    assert page.url == f"{server.address}/requests/?q={word}"


def test_inbox_works_without_javascript(windows, people, asked):
    word, ask = asked
    request = ask()
    page = windows.open(people("approver"), "/requests/", java_script_enabled=False)
    page.get_by_label("Search").fill(word)
    page.get_by_role("button", name="Apply", exact=True).click()
    row(page, request).locator(".row-title").click()
    assert page.url.endswith(f"/requests/{request}/")
