"""Times are counted from the server's clock, and shortcuts work on layouts without Latin letters."""

from __future__ import annotations

import pytest

from tests.support.machine import Remote

pytestmark = pytest.mark.browser

#: A clock that is 20 minutes ahead, as the whole browser sees it.
AHEAD = """(() => {
  const ahead = 20 * 60_000, Real = Date, origin = performance.timeOrigin;
  window.Date = class extends Real {
    constructor(...given) { given.length ? super(...given) : super(Real.now() + ahead); }
    static now() { return Real.now() + ahead; }
  };
  Object.defineProperty(performance, "timeOrigin", { get: () => origin + ahead });
})()"""
PRESS = """([key, code, shiftKey]) => document.body.dispatchEvent(
  new KeyboardEvent("keydown", { key, code, shiftKey, bubbles: true, cancelable: true }))"""


@pytest.fixture
def agent(server):
    return Remote(server, "requester", ("ask", "read"))


def test_a_wrong_clock_of_the_browser_does_not_expire_a_request(windows, people, agent):
    asked = agent.ask(title="Clock?", timeout=60 * 60_000)
    page = windows.open(people("approver"), "/")
    page.context.add_init_script(AHEAD)
    page.goto(page.url.split("/", 3)[0] + "//" + page.url.split("/", 3)[2] + f"/requests/{asked['id']}/")
    deadline = page.locator(".deadline")
    deadline.locator("time").filter(has_text="minutes").wait_for()
    # By the browser's clock it is less than 40 minutes.
    assert 41 <= int(deadline.locator("time").first.inner_text().split()[1]) <= 60
    assert "0:00" not in deadline.locator(".left").inner_text()
    assert page.evaluate("Math.abs(Date.now() - 20 * 60_000 - window.pausepoint.now()) < 60_000")


#: The keys at the places of `j` and `?`.
LAYOUTS = {
    "Cyrillic": (["\u043e", "KeyJ", False], ["\u061f", "Slash", True]),
    "Greek": (["\u03be", "KeyJ", False], ["?", "Slash", True]),
    "Hebrew": (["\u05d7", "KeyJ", False], ["?", "Slash", True]),
    "Arabic": (["\u062a", "KeyJ", False], ["\u061f", "Slash", True]),
}


def test_shortcuts_are_at_their_places_on_layouts_without_latin_letters(windows, people, agent):
    for _ in LAYOUTS:
        agent.ask(title="Layout?")
    page = windows.open(people("approver"), "/requests/")
    for down, help_key in LAYOUTS.values():
        page.evaluate("() => document.activeElement.blur()")
        page.evaluate(PRESS, down)
        page.wait_for_function("() => document.activeElement.closest('.inbox-row') !== null")
        page.evaluate(PRESS, help_key)
        page.locator("dialog#keys[open]").wait_for()
        page.get_by_role("button", name="Close").click()


def test_a_letter_with_an_accent_is_no_shortcut(windows, people):
    page = windows.open(people("approver"), "/requests/")
    keys = [
        ["\u0131", "KeyI", False],
        ["\u00e4", "Quote", False],
        ["q", "KeyA", False],
        ["\u0444", "KeyA", True],
        ["\u0444", "KeyA", False],
    ]
    read = "([key, code, shiftKey]) => window.pausepoint.typing.keyOf({ key, code, shiftKey })"
    assert [page.evaluate(read, key) for key in keys] == ["\u0131", "\u00e4", "q", "A", "a"]
