"""Two people at the same request in two windows: claiming, reassigning, assigning, notes and notifications."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.proofs.browser.conftest import caught, intercept
from tests.proofs.browser.places import LIVE, violations
from tests.proofs.browser.test_live import card

pytestmark = pytest.mark.browser

#: Keeps the page's notifications, and lets a test hide the page.
NOTES = """
window.notes = [];
window.Notification = new Proxy(window.Notification, {
  construct(kind, [title, options]) {
    window.notes.push([title, options.body, options.tag]);
    return Reflect.construct(kind, [title, options]);
  },
});
Object.defineProperty(Document.prototype, "hidden", { configurable: true, get: () => window.away === true });
"""
#: A browser whose push service has given it a subscription; no service can be reached here.
SUBSCRIBED = """
const subscription = { endpoint: "https://push.example.org/1", getKey: () => new Uint8Array(16).buffer };
const ready = Promise.resolve({ pushManager: { getSubscription: async () => subscription } });
Object.defineProperty(ServiceWorkerContainer.prototype, "ready", { get: () => ready });
Object.defineProperty(Notification, "permission", { get: () => "granted" });
"""
#: Whether this tab has noted that it told of the subscription, which it does when the answer has come.
NOTED = "() => sessionStorage.getItem('pausepoint.push') === document.body.dataset.session"
#: Whether the page was pushed something with all of these words, and has swapped it.
TOLD = """words => document.addEventListener("htmx:wsBeforeMessage", event => {
  if (words.every(word => event.detail.message.includes(word))) queueMicrotask(() => { window.told = true; });
})"""


def row(page, request: str):
    return page.locator(f"#row-{request}")


def holder(page, request: str):
    return page.locator(f"#assignee-{request}")


def says(page, request: str, text: str) -> None:
    """Wait until the assignee line of a request has this text."""
    # Beside *Assign to me*, the text is for screen readers.
    state = "attached" if text == "Unassigned" else "visible"
    holder(page, request).locator(".assignee-text", has_text=re.compile(text)).wait_for(state=state)


def test_claim_shows_in_the_other_window_and_nothing_moves(windows, people):
    alice = people("requester")
    (_, request), (_, below) = (alice.pause(f"Please refund order {number}, 500 euros") for number in (901, 902))
    bob, other = (windows.open(people(name), f"/#{request}") for name in ("approver", "admin"))
    rows = [f"#row-{one}" for one in (request, below)]
    places = "rows => rows.map(row => document.querySelector(row).getBoundingClientRect().top)"
    says(other, request, "Unassigned")
    before = other.evaluate(places, rows)
    holder(bob, request).get_by_role("button", name="Assign to me").click()
    says(bob, request, r"^\s*Assigned to you")
    says(other, request, r"^\s*Assigned to approver")
    assert other.evaluate(places, rows) == before
    # The push may come before the answer to the form, which moves the focus to its button.
    bob.wait_for_function("() => document.activeElement.textContent.trim() === 'Unassign'")
    holder(bob, request).get_by_role("button", name="Unassign").click()
    says(other, request, "Unassigned")
    says(bob, request, "Unassigned")


def test_push_before_the_answer_to_a_claim_leaves_the_focus_at_its_button(windows, people):
    _, request = people("requester").pause("Please refund order 913, 500 euros")
    page = windows.open(people("approver"), f"/#{request}")
    held = []
    intercept(page, f"**/requests/{request}/claim/", lambda route: held.append(route), times=1)
    page.evaluate(TOLD, [f"assignee-{request}", "Assigned to you"])
    holder(page, request).get_by_role("button", name="Assign to me").click()
    claim = caught(page, held)
    answer = claim.fetch()
    page.wait_for_function("() => window.told")
    claim.fulfill(response=answer)
    says(page, request, r"^\s*Assigned to you")
    page.wait_for_function("() => document.activeElement.textContent.trim() === 'Unassign'")


def test_reassigning_asks_for_confirmation_and_the_former_assignee_sees_it(windows, people):
    _, request = people("requester").pause("Please refund order 903, 500 euros")
    bob, other = (windows.open(people(name), f"/#{request}") for name in ("approver", "admin"))
    holder(bob, request).get_by_role("button", name="Assign to me").click()
    take_over = holder(other, request).get_by_role("button", name="Reassign to me")
    take_over.wait_for()
    take_over.click()
    question = other.get_by_role("dialog", name="This is assigned to approver. Assign it to you instead?")
    question.get_by_role("button", name="Go back").click()
    take_over.click()
    question.get_by_role("button", name="Reassign to me").click()
    says(bob, request, r"^\s*Assigned to admin")
    says(other, request, r"^\s*Assigned to you")


def test_request_that_changes_while_it_is_loaded_is_loaded_again(windows, people):
    _, request = people("requester").pause("Please refund order 906, 500 euros")
    page = windows.open(people("approver"))
    held = []
    intercept(page, f"**/requests/{request}/", lambda route: held.append(route), times=1)
    with page.expect_request(f"**/requests/{request}/"):
        row(page, request).locator(".row-title").click()
    load = caught(page, held)
    before = load.fetch()
    page.evaluate(TOLD, [request])
    people("admin").post(f"/requests/{request}/claim/")
    page.wait_for_function("() => window.told")
    load.fulfill(response=before)
    says(page, request, r"^\s*Assigned to admin")


def test_claim_shows_in_the_chat_too(windows, people):
    chat, request = people("requester").pause("Please refund order 904, 500 euros")
    page = windows.open(people("requester"), f"/chats/{chat}/")
    says(page, request, "Unassigned")
    bob = windows.open(people("approver"), f"/requests/{request}/")
    holder(bob, request).get_by_role("button", name="Assign to me").click()
    says(page, request, r"^\s*Assigned to approver")


def test_note_shows_in_the_other_window_and_keeps_drafts(windows, people):
    _, request = people("requester").pause("Please refund order 905, 500 euros")
    bob, alice = (windows.open(people(name), f"/requests/{request}/") for name in ("approver", "requester"))
    for page in (bob, alice):
        page.get_by_role("tab", name="Notes").click()
    alice.get_by_label("Your note").fill("Half a sen")
    bob.get_by_label("Your note").fill("Is this **right**?")
    bob.get_by_role("button", name="Add note").click()
    comment = alice.locator(".internal-note", has_text="Is this right?")
    comment.wait_for()
    expect(comment.locator("strong")).to_have_text("right")
    alice.get_by_label("Your note").press_sequentially("tence")
    alice.get_by_role("button", name="Add note").click()
    for page in (bob, alice):
        expect(page.locator(".internal-note .text")).to_have_text(["Half a sentence", "Is this right?"])
        expect(page.get_by_role("tab", selected=True)).to_have_text(re.compile(r"^\s*Notes\s*2\s*$"))


def test_assigned_question_shows_its_buttons_on_the_assignees_dashboard(windows, people):
    _, request = people("requester").pause("ask human")
    auditor = windows.open(people("auditor"), f"/#{request}")
    card(auditor, request).wait_for()
    expect(card(auditor, request).locator("button:not(.slot-about button)")).to_have_count(0)
    bob = windows.open(people("approver"), f"/requests/{request}/")
    bob.get_by_role("tab", name="Notes").click()
    bob.get_by_text("Assign to…").first.click()
    bob.get_by_label("Assign to").fill("auditor")
    bob.get_by_role("button", name="Assign", exact=True).click()
    says(bob, request, "Assigned to auditor")
    says(auditor, request, "Assigned to you")
    card(auditor, request).get_by_role("button", name="Offer a free return").click()
    expect(card(bob, request).locator(".outcome")).to_contain_text("Answered by auditor")


def test_claim_works_without_javascript(windows, people):
    _, request = people("requester").pause("Please refund order 907, 500 euros")
    page = windows.open(people("approver"), f"/requests/{request}/", java_script_enabled=False)
    holder(page, request).get_by_role("button", name="Assign to me").click()
    says(page, request, r"^\s*Assigned to you")


def test_title_counts_waiting_requests_on_every_page(windows, people):
    alice = people("requester")
    alice.pause("Please refund order 908, 500 euros")
    page = windows.open(people("approver"))
    waiting = int(page.locator("#counts").get_attribute("data-waiting"))
    expect(page).to_have_title(f"({waiting}) Inbox · Pausepoint")
    _, request = alice.pause("Please refund order 909, 500 euros")
    expect(page).to_have_title(f"({waiting + 1}) Inbox · Pausepoint")
    page.goto(f"{people('approver').server.address}/requests/{request}/")
    expect(page).to_have_title(re.compile(rf"^\({waiting + 1}\) "))
    page.wait_for_selector(LIVE)
    people("admin").decide(request, verdict="reject")
    expect(page).to_have_title(re.compile(rf"^\({waiting}\) "))


def test_notifications_are_enabled_by_a_button_and_shown_while_the_page_is_hidden(notified_windows, people):
    alice, bob = people("requester"), people("approver")
    page = notified_windows.open(bob, "/workflows/")
    page.context.grant_permissions(["notifications"], origin=bob.server.address)
    page.context.add_init_script(NOTES)
    page.goto(f"{bob.server.address}/")
    page.wait_for_selector(LIVE)
    page.locator(".user").click()
    switch = page.locator("#notify")
    expect(switch).to_have_text("Turn on browser notifications")
    expect(switch).to_have_attribute("aria-pressed", "false")
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "true")
    expect(switch).to_have_text("Browser notifications are on")
    _, seen = alice.pause("Please refund order 910, 500 euros")
    row(page, seen).wait_for(state="attached")
    page.evaluate("window.away = true")
    _, missed = alice.pause("Please refund order 911, 500 euros")
    row(page, missed).wait_for(state="attached")
    assert page.evaluate("window.notes") == [["Run issueRefund?", "Waiting for you: issueRefund", missed]]
    page.evaluate("window.away = false")
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "false")
    page.evaluate("window.away = true")
    _, unheard = alice.pause("Please refund order 912, 500 euros")
    row(page, unheard).wait_for(state="attached")
    assert len(page.evaluate("window.notes")) == 1


def test_each_session_of_a_tab_tells_once_of_the_subscription_of_its_device(windows, server):
    page = windows.open(server.person("approver"), "/settings/")
    told = []
    intercept(page, "**/settings/notifications/subscribe/", lambda route: (told.append(1), route.fulfill(status=204)))
    page.context.add_init_script(SUBSCRIBED)
    # The first page of a session that gives the device a subscription tells; no other page of the session does.
    with page.expect_response("**/subscribe/"):
        page.goto(f"{server.address}/insights/")
    page.wait_for_function(NOTED)
    page.reload(wait_until="networkidle")
    page.locator(".user").click()
    page.get_by_role("button", name="Log out").click()
    page.fill("#id_username", "approver")
    page.fill("#id_password", "pausepoint")
    with page.expect_response("**/subscribe/"):
        page.click("main button")
    page.wait_for_function(NOTED)
    page.goto(f"{server.address}/insights/", wait_until="networkidle")
    page.reload(wait_until="networkidle")
    assert len(told) == 2


def test_insights_are_linked_and_keep_their_period_in_the_address(windows, people):
    page = windows.open(people("auditor"))
    page.get_by_role("link", name="Insights").click()
    page.get_by_role("link", name="7 days").click()
    page.wait_for_url("**/insights/?days=7")
    expect(page.locator(".columns g")).to_have_count(7)
    page.get_by_text("Show the numbers").click()
    expect(page.locator(".behind tbody tr")).to_have_count(7)


def choose(page: Page, path: str, label: str, value: str, select: bool = False) -> None:
    page.goto(re.split("/(?:settings|requests)/", page.url)[0] + path)
    field = page.get_by_label(label, exact=True)
    field.select_option(value) if select else field.fill(value)
    page.get_by_role("button", name="Save").first.click()
    expect(page.locator(".note[role=status]")).to_be_visible()


def test_a_name_and_a_time_zone_are_chosen_and_shown(windows, people, axe):
    alice = people("requester")
    _, request = alice.pause("Please refund order 931, 500 euros")
    page = windows.open(alice, "/settings/", timezone_id="Europe/Berlin")
    choose(page, "/settings/", "Display name", "Rita Quester")
    expect(page.locator(".person-line")).to_contain_text("Rita Quester (@requester)")
    assert violations(page, axe) == {}
    page.goto(page.url + "display/")
    page.get_by_role("button", name="Use Europe/Berlin, the time zone of this browser").click()
    expect(page.get_by_label("Time zone", exact=True)).to_have_value("Europe/Berlin")
    choose(page, "/settings/display/", "Time zone", "Asia/Kolkata", select=True)
    assert violations(page, axe) == {}
    page.goto(page.url.split("/settings")[0] + f"/requests/{request}/")
    expect(page.locator("body")).to_have_attribute("data-zone", "Asia/Kolkata")
    time = page.locator("time[data-zoned]").first
    title, iso = time.get_attribute("title"), time.get_attribute("datetime")
    local = page.evaluate("iso => new Date(iso).toLocaleString(undefined, { timeZone: 'Asia/Kolkata' })", iso)
    assert (title.startswith(local), title.endswith("UTC)")) == (True, True)
    choose(page, "/settings/", "Display name", "")  # others read this person's name and times
    choose(page, "/settings/display/", "Time zone", "", select=True)


def test_a_mention_is_suggested_taken_with_the_keyboard_and_marked(windows, people, axe):
    _, request = people("requester").pause("Please refund order 932, 500 euros")
    page = windows.open(people("approver"), f"/requests/{request}/")
    page.get_by_role("tab", name="Notes").click()
    note = page.get_by_label(re.compile("^Your note"))
    note.press_sequentially("Please look, @reque")
    options = page.locator("#mention-options [role=option]")
    expect(options).to_have_count(1)
    expect(note).to_have_attribute("aria-activedescendant", "mention-options-0")
    assert violations(page, axe) == {}
    note.press("Enter")
    expect(note).to_have_value("Please look, @requester ")
    expect(options).to_be_hidden()
    expect(note).not_to_have_attribute("role", "combobox")
    page.get_by_role("button", name="Add note").click()
    expect(page.locator(".internal-note .mention")).to_have_text("@requester")
    # The note may be pushed before the answer to its form, which empties the field.
    expect(note).to_have_value("")
    note.press_sequentially("@")
    expect(options.first).to_be_visible()
    note.press("Escape")
    expect(options.first).to_be_hidden()
