"""Write a rule, see its effect on past requests, apply it, and use it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.places import violations
from tests.support.machine import Remote
from tests.support.processes.server import Server

pytestmark = pytest.mark.browser

CALL = {"title": "Post the note?", "tool_name": "postNote", "input": {"length": 80}, "agent": "writer"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, real_processes: None) -> Iterator[Server]:
    """A server of its own, without a policy."""
    with Server(tmp_path_factory.mktemp("rules")) as running:
        yield running


def press(page, name: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).click()


def focused(page, name: str, description: str) -> None:
    """Wait until the button with this name has the focus, and with it what has happened."""
    expect(page.locator("button:focus")).to_have_accessible_name(name)
    expect(page.locator("button:focus")).to_have_accessible_description(description)


def figures(row) -> list[str]:
    """The numbers of a row, each of which may be a button that shows its cases."""
    return [text.split("\n")[0] for text in row.locator("td").all_inner_texts()]


def test_a_rule_is_written_replayed_applied_and_used(windows, server, axe):
    remote = Remote(server, "requester", ("ask", "read"))
    assert remote.ask(**CALL)["status"] == "pending"
    page = windows.open(server.person("admin"), "/settings/policy/")
    assert violations(page, axe) == {}
    with page.expect_navigation():
        page.get_by_role("link", name="Change the policy").click()

    # Write: by keyboard, with the rule in words beside the form. A wrong value has the focus.
    windows.tolerate("422")
    with page.expect_navigation():
        page.get_by_role("button", name="Add a rule", exact=True).press("Enter")
    page.get_by_label("Name", exact=True).fill("Short notes")
    page.get_by_label("Tool", exact=True).fill("postNote")
    page.get_by_label("Field", exact=True).fill("length")
    page.get_by_label("Value", exact=True).fill("short")
    page.get_by_label("Allow without asking").check()
    expect(page.get_by_label("How many")).to_be_hidden()
    with page.expect_navigation():
        page.get_by_label("Name", exact=True).press("Enter")
    page.locator("main form").get_by_text("“short” is not a number.").first.wait_for()
    value = page.get_by_label("Value", exact=True)
    expect(value).to_be_focused()
    assert violations(page, axe) == {}
    value.fill("100")
    live = page.locator("#rule-live")
    live.get_by_text("Allows calls of postNote whose length is at most 100").wait_for()
    expect(live.get_by_role("link", name="Post the note?")).to_have_count(1)
    expect(page.locator("#known-fields option")).to_have_attribute("value", "length")
    # With real keys: where a script moves the focus out of a field, the next key is taken for the rest of a sentence.
    for _ in range(2):
        page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Add a value")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Field", exact=True).nth(1)).to_be_focused()
    page.get_by_text("A condition in CEL").click()
    page.get_by_label("Condition", exact=True).fill("input.lengthy < 100")
    press(page, "Add it to the draft")
    focused(page, "Edit", "“Short notes” is now rule 1 of 1 in the draft.")
    assert '"name": "Short notes"' in page.locator("textarea[name=document]").input_value()
    assert violations(page, axe) == {}

    # Replay: the condition names a member that no input has, so people would be asked. Mend it in the JSON.
    press(page, "Show what it would have done")
    row = page.locator("tr", has=page.get_by_role("rowheader", name="Short notes"))
    assert figures(row) == ["0", "0", "1", "1"]
    document = page.locator("textarea[name=document]")
    document.fill(document.input_value().replace("lengthy", "length"))
    press(page, "Show what it would have done")
    assert figures(row) == ["1", "0", "0"]
    assert violations(page, axe) == {}

    # Apply it, with a reason.
    page.get_by_label("Why the policy changes").fill("No one ever rejected one.")
    press(page, "Apply this policy")
    page.get_by_text("Version 1 is live. It applies to new requests.").wait_for()
    assert violations(page, axe) == {}

    windows.tolerate("422")
    # A second rule behind it gets no calls, and says so; in front of it, it does. The draft is kept.
    with page.expect_navigation():
        page.get_by_role("link", name="Add a rule").click()
    page.get_by_label("Name", exact=True).fill("Notes")
    page.get_by_label("Tool", exact=True).fill("postNote")
    live.get_by_text("Asks people about calls of postNote.").wait_for()
    page.get_by_label("Position").select_option("Before 1. Short notes")
    press(page, "Add it to the draft")
    page.get_by_text("No call reaches this rule: rule 1, “Notes”, takes them.").wait_for()
    press(page, "Move down")
    focused(page, "Move up", "“Notes” is now rule 2 of 2 in the draft.")
    page.goto(server.address + "/settings/policy/")
    with page.expect_navigation():
        page.get_by_role("link", name="Continue the draft").click()
    assert '"name": "Notes"' in page.locator("textarea[name=document]").input_value()
    assert violations(page, axe) == {}
    press(page, "Discard the draft")
    page.get_by_text("Draft discarded.").wait_for()

    # Use it: such a call runs, a longer one waits, and a fault is shown with its line.
    assert remote.ask(**CALL)["status"] == "approved"
    assert remote.ask(**CALL | {"input": {"length": 800}})["status"] == "pending"
    page.goto(server.address + "/settings/policy/change/")
    document = page.locator("textarea[name=document]")
    document.fill(document.input_value().replace("input.length", "inputs.length"))
    press(page, "Show what it would have done")
    assert (
        "Line 17: rules.0.when line 1, column 7: undeclared reference to 'inputs.length'"
        in page.locator("#faults").inner_text()
    )
    assert violations(page, axe) == {}
    press(page, "Discard the draft")
    page.get_by_text("Draft discarded.").wait_for()


def test_leaving_a_half_written_rule_asks_first(windows, server):
    page = windows.open(server.person("admin"), "/settings/policy/")
    with page.expect_navigation():
        page.get_by_role("link", name="Add a rule", exact=True).click()
    name = page.get_by_label("Name", exact=True)
    name.press_sequentially("Half")
    page.on("dialog", lambda dialog: dialog.dismiss())
    with page.expect_event("dialog") as asked:
        page.locator(".crumbs a").click()
    assert asked.value.type == "beforeunload"
    expect(name).to_have_value("Half")
    press(page, "Go back")
    expect(page.get_by_role("heading", name="Change the policy")).to_be_visible()
