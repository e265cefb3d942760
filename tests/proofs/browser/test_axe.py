"""axe-core finds nothing on any page, in either theme, on a phone and on a desktop; and every page fits the phone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proofs.browser.places import each_page
from tests.support.services import install_packages

pytestmark = pytest.mark.browser

PACKAGE = Path(__file__).parent / "axe"
SIZES = ({"width": 360, "height": 740}, {"width": 1280, "height": 900})
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
#: Each violation as "rule: where it is first, and why".
LOOK = f"""async () => {{
    const told = (one) => `${{one.html.slice(0, 200)}} ${{one.failureSummary}}`;
    const {{ violations }} = await axe.run({{ runOnly: {RULES!r} }});
    return violations.map(({{ id, nodes }}) => `${{id}} (${{nodes.length}}): ${{told(nodes[0])}}`);
}}"""


@pytest.fixture(scope="module")
def axe() -> str:
    """Return the axe script, which the browser runs itself because the pages' policy forbids adding scripts."""
    install_packages(PACKAGE)
    return (PACKAGE / "node_modules" / "axe-core" / "axe.min.js").read_text()


def violations(page, axe: str) -> dict[tuple[int, str], list[str]]:
    """Return what axe finds on this page, by width and theme."""
    page.evaluate(axe)
    found = {}
    for size in SIZES:
        page.set_viewport_size(size)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found[size["width"], scheme] = page.evaluate(LOOK)
    return {where: what for where, what in found.items() if what}


def test_axe_finds_nothing_on_any_page_in_either_theme_and_at_either_width(windows, people, server, places, axe):
    found = {
        name: wrong for name, page in each_page(windows, people, server, places) if (wrong := violations(page, axe))
    }
    assert found == {}


def test_axe_finds_nothing_on_bulk_pages(windows, people, server, places, axe):
    for order in ("901", "902"):
        people("requester").pause(f"Please refund order {order}, 500 euros")
    page = windows.open(people("approver"), "/requests/?q=refund&kind=approval", reduced_motion="reduce")
    for box in page.locator("[name=pick]").all()[:2]:
        box.check()
    page.get_by_role("button", name="Reject…").click()
    page.wait_for_url("**/requests/bulk/")
    summary = violations(page, axe)
    with page.expect_navigation():
        page.locator("button.danger").click()
    assert (summary, violations(page, axe)) == ({}, {})


def test_axe_finds_nothing_in_a_refused_answer(windows, people, places, axe):
    page = windows.open(people("approver"), places["form"][1], reduced_motion="reduce")
    windows.tolerate("422", "400")
    page.get_by_role("button", name="Answer", exact=True).click()
    page.locator("form.fields").first.evaluate("one => { one.noValidate = true; }")
    page.get_by_role("button", name="Answer", exact=True).click()
    page.locator(".refusal").wait_for()
    assert violations(page, axe) == {}


def test_axe_finds_nothing_in_the_shortcuts_dialog(windows, people, places, axe):
    page = windows.open(people("approver"), "/requests/", reduced_motion="reduce")
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()
    assert violations(page, axe) == {}
