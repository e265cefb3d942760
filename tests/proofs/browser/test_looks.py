"""Every page at every size, light and dark: axe-core finds nothing, nothing overflows, all can be read and reached by keys.

Each page is visited once. axe-core looks at it on a light phone and on a dark desktop, and the contrast of texts is
measured on a dark phone and on a light desktop: little depends on both the width and the theme.
"""

from __future__ import annotations

import itertools
import re

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.places import each_page, violations
from tests.support.processes.server import until

pytestmark = pytest.mark.browser

PHONE = 360
COMMON = 1280
#: A narrow phone, a phone, a desktop at a zoom of 200 %, and desktops. In the last of them, the next page is loaded.
WIDTHS = (320, PHONE, 640, 1440, COMMON)
SCHEMES = ("light", "dark")
OTHER_SIGHTS = ((PHONE, "dark"), (1280, "light"))
#: Smaller than a finger on purpose: they stand aside, and there is another way (the summary's own line, the card's page).
QUIET = "button.quiet"
#: Invisible: it lets Enter send the search without scripts.
UNSEEN = ".visually-hidden"

#: Lists, a request with and without earlier decisions, and pages that are read or filled in.
IN_THE_GRID = ("desk", "decided", "workflows", "workflow", "waiting", "critical", "form", "insights", "audit", "chats", "mixed",
         "usage", "timeline", "profile", "keys")  # fmt: skip
EDGES = """() => {
    const page = document.querySelector('main > div:not(.first-run)').getBoundingClientRect();
    return [document.querySelector('.brand').getBoundingClientRect().left, page.left, page.right];
}"""
#: The edges of the header and of the content, by the width of the window.
GRID = {COMMON: [16, 16, 1264], 1600: [80, 80, 1520]}

OVERFLOW = "() => document.documentElement.scrollWidth - innerWidth"
TOO_LOW = f"""() => [...document.querySelectorAll('main button:not({QUIET}, {UNSEEN}), main .button')]
    .filter(one => one.offsetParent && Math.round(one.getBoundingClientRect().height) < 44)
    .map(one => `${{one.innerText}}: ${{one.getBoundingClientRect().height}}`)"""
#: After one more press of Tab: the element with the focus, and whether that is visible.
FOCUSED = """() => {
    const one = document.activeElement;
    if (!one || one === document.body) return null;
    const style = getComputedStyle(one), box = one.getBoundingClientRect();
    return {
        name: `${one.tagName} ${one.id || one.name || one.innerText.slice(0, 30)}`,
        outline: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
        seen: box.width > 0 && box.height > 0,
    };
}"""
INTERACTIVE = """() => [...document.querySelectorAll('a[href], button, input:not([type=hidden]), textarea, select, summary')]
    .filter(one => one.getClientRects().length && one.checkVisibility())
    .filter(one => one.tabIndex >= 0 && !one.disabled && getComputedStyle(one).visibility === 'visible').length"""
#: Texts with less contrast than 4.5 to 1 to their background (WCAG AA).
PALE = """() => {
    const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
    const linear = part => (part /= 255) <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const over = ([r, g, b, a = 1], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
    const behind = element => {
        if (!element) return [255, 255, 255];
        const colour = numbers(getComputedStyle(element).backgroundColor);
        return (colour[3] ?? 1) === 1 ? colour : over(colour, behind(element.parentElement));
    };
    const found = {};
    for (const one of document.querySelectorAll('body *')) {
        const own = [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim());
        const shown = one.checkVisibility({ opacityProperty: true }) && one.getBoundingClientRect().width > 1;
        const field = one.matches('textarea, input') && (one.value || one.placeholder);
        if (!shown || !(own || field) || one.closest(':disabled')) continue;
        const ground = behind(one), shades = [getComputedStyle(one).color];
        if (field && !one.value) shades.push(getComputedStyle(one, '::placeholder').color);
        for (const shade of shades) {
            const [dark, bright] = [light(over(numbers(shade), ground)), light(ground)].sort((a, b) => a - b);
            const ratio = (bright + 0.05) / (dark + 0.05);
            found[`${one.tagName}.${one.className}`] = Math.min(ratio, found[`${one.tagName}.${one.className}`] ?? 21);
        }
    }
    return found;
}"""


def test_every_page_is_accessible_fits_stays_in_place_and_reads_well_at_every_size_in_both_themes(
    windows, people, server, places, axe
):
    wrong, too_wide, too_low, pale, edges, moved = {}, {}, {}, {}, {}, {}
    for name, page in each_page(windows, people, server, places, moved=moved):
        if name in IN_THE_GRID:
            for width in GRID:
                page.set_viewport_size({"width": width, "height": 900})
                edges[name, width] = page.evaluate(EDGES)
        if found := violations(page, axe):
            wrong[name] = found
        for width, scheme in OTHER_SIGHTS:
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            ratios = page.evaluate(PALE)
            assert len(ratios) >= 4, name
            pale |= {(name, scheme, what): round(ratio, 2) for what, ratio in ratios.items() if ratio < 4.5}
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            if (over := page.evaluate(OVERFLOW)) > 0:
                too_wide[name, width] = over
            if width == PHONE and (low := page.evaluate(TOO_LOW)):
                too_low[name] = low
    # The style guide is for developers of pages, and shows the parts of all of them at once.
    moved.pop("styleguide", None)
    assert (wrong, too_wide, too_low, pale, moved) == ({}, {}, {}, {}, {})
    assert edges == {(name, width): GRID[width] for name in IN_THE_GRID for width in GRID}


def test_light_and_dark_differ(windows, people):
    page = windows.open(people("requester"), "/chats/", color_scheme="light")
    expect(page.locator("body")).to_have_css("background-color", "rgb(244, 245, 247)")
    page.emulate_media(color_scheme="dark")
    expect(page.locator("body")).to_have_css("background-color", "rgb(17, 22, 28)")


def test_the_menu_works_by_keyboard_and_a_theme_applies_at_once_and_stays(windows, people):
    page = windows.open(people("auditor"), "/chats/", color_scheme="light")
    page.locator(".user").focus()
    page.keyboard.press("Enter")
    # A function: the policy of the pages forbids to evaluate an expression again and again.
    page.wait_for_function("() => document.activeElement.textContent.includes('Profile and settings')")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    page.keyboard.press("End")
    expect(page.locator(":focus")).to_have_text("Log out")
    with page.expect_response("**/settings/theme/") as stored:
        page.get_by_role("button", name="Dark").click()
    assert stored.value.status == 204
    page.keyboard.press("Escape")
    expect(page.locator(".user")).to_be_focused()
    expect(page.locator("body")).to_have_css("background-color", "rgb(17, 22, 28)")
    page.reload()
    expect(page.locator("body")).to_have_css("background-color", "rgb(17, 22, 28)")
    with page.expect_response("**/settings/theme/"):
        page.locator(".user").click()
        page.get_by_role("button", name="As the device").click()


def test_everything_is_reachable_by_tab_with_visible_focus(windows, people, server, places):
    wanted = {name: places[name] for name in ("requests", "chats", "asking", "mixed", "checkpoints")}
    schemes = itertools.cycle(SCHEMES)
    for name, page in each_page(windows, people, server, wanted):
        page.emulate_media(color_scheme=next(schemes))
        total, reached = page.evaluate(INTERACTIVE), []
        for _ in range(total + 20):
            page.keyboard.press("Tab")
            focused = page.evaluate(FOCUSED)
            if focused is None or (reached and focused == reached[0]):
                break
            reached.append(focused)
        assert [one["name"] for one in reached if not (one["outline"] and one["seen"])] == [], name
        assert len(reached) >= total, (name, [one["name"] for one in reached])


def test_first_tab_stop_skips_to_the_content(windows, people):
    page = windows.open(people("requester"), "/chats/")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to content")
    page.wait_for_function("() => document.activeElement.getBoundingClientRect().left >= 0")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/chats/#main$"))
    page.keyboard.press("Tab")
    expect(page.locator("#text")).to_be_focused()


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


def test_axe_finds_nothing_in_the_shortcuts_dialog_and_the_menu_of_a_filter(windows, people, places, axe):
    page = windows.open(people("approver"), "/requests/", reduced_motion="reduce")
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()
    assert violations(page, axe) == {}
    page.keyboard.press("Escape")
    page.locator(".filter-menu > summary").click()
    page.locator("[data-chip=tool] > summary").click()
    page.locator("[data-chip=tool] .suggestions a").first.wait_for()
    assert violations(page, axe) == {}


def test_axe_finds_nothing_in_a_value_that_is_shown_and_its_button_stands_beside_it(windows, people, places, axe):
    page = windows.open(people("admin"), places["hidden values"][1], reduced_motion="reduce")
    button = page.get_by_role("button", name="Show password")
    row = page.get_by_role("row", name="password")
    until(lambda: row.bounding_box()["height"] <= button.bounding_box()["height"] + 12, "the button stands beside it")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".secret-value:focus")).to_have_text("12345678")
    assert violations(page, axe) == {}


def test_axe_finds_nothing_in_the_preview_of_a_scope(windows, people, places, axe):
    page = windows.open(people("admin"), places["scopes"][1], reduced_motion="reduce")
    page.locator(".fold-form > summary").click()
    page.get_by_label("Name", exact=True).fill("Nothing that waits")
    page.get_by_label("People").fill("approver")
    page.get_by_label("Tools").fill("unknown")
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("Only superusers could decide these waiting requests:").wait_for()
    assert violations(page, axe) == {}
