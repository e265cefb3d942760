"""A patch of several files in a browser: the bar says how many of them were on the screen."""

from __future__ import annotations

import re

import pytest

from tests.proofs.browser.places import axe, violations
from tests.proofs.browser.test_inbox import status
from tests.proofs.browser.test_live import card
from tests.support.machine import Remote

__all__ = ["axe"]
pytestmark = pytest.mark.browser

FIRST = "*** Update File: a.py\n@@ def pay():\n-    old = 1\n+    new = 2"
LAST = "*** Add File: b.md\n" + "\n".join(f"+Line {number}" for number in range(70))
#: Scroll on; return whether all files were on the screen.
SCROLLED = """() => {
    scrollBy(0, 150);
    return document.querySelector('.files-viewed').textContent === 'Viewed 3 of 3 files';
}"""
PATCH = f"*** Begin Patch\n{FIRST}\n*** Delete File: c.py\n{LAST}\n*** End Patch"


@pytest.mark.parametrize("width", [390, 1280])
def test_the_bar_counts_the_files_that_were_on_the_screen(windows, people, server, axe, width):
    asked = Remote(server, "requester", ("ask", "read")).ask(
        tool_name="apply_patch", tool_call_id=f"patch-{width}", input={"command": PATCH}
    )
    page = windows.open(people("approver"), f"/requests/{asked['id']}/", viewport={"width": width, "height": 700})
    shown = card(page, asked["id"])
    shown.get_by_text(re.compile(r"^Viewed [012] of 3 files$")).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page, axe) == {}
    page.keyboard.press("o")
    page.wait_for_function(SCROLLED)
    assert status(server, asked["id"]) == "pending"
    page.locator("button[data-key=a]").click()
    shown.locator(".outcome").wait_for()
