"""Every page on a phone and on a desktop, light and dark: nothing overflows, all can be read and reached by keyboard.

The colours do not depend on the width, nor the boxes on the colours: light is looked at on the phone, dark on the desktop.
"""

from __future__ import annotations

import itertools

import pytest

from tests.proofs.browser.places import each_page

pytestmark = pytest.mark.browser

PHONE = 360
SIZES = {PHONE: 740, 1440: 900}
SCHEMES = ("light", "dark")
#: Smaller than a finger on purpose: they stand aside, and there is another way (the summary's own line, the card's page).
QUIET = "button.quiet"
#: Seen by nobody: it lets Enter send the search where there are no scripts.
UNSEEN = ".visually-hidden"

OVERFLOW = "() => document.documentElement.scrollWidth - innerWidth"
TOO_LOW = f"""() => [...document.querySelectorAll('main button:not({QUIET}, {UNSEEN}), main .button')]
    .filter(one => one.offsetParent && Math.round(one.getBoundingClientRect().height) < 44)
    .map(one => `${{one.innerText}}: ${{one.getBoundingClientRect().height}}`)"""
#: One press of Tab further: what has the focus now, and whether one can see it.
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
#: Texts with less contrast than 4.5 to 1 to what stands behind them (WCAG AA).
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


def test_every_page_fits_and_reads_well_on_a_phone_and_on_a_desktop_light_and_dark(windows, people, server, places):
    too_wide, too_low, pale = {}, {}, {}
    for name, page in each_page(windows, people, server, places):
        for (width, height), scheme in zip(SIZES.items(), SCHEMES, strict=True):
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)
            found = page.evaluate(PALE)
            assert len(found) >= 5, name
            pale |= {(name, scheme, what): round(ratio, 2) for what, ratio in found.items() if ratio < 4.5}
            if (over := page.evaluate(OVERFLOW)) > 0:
                too_wide[name, width] = over
            if width == PHONE and (low := page.evaluate(TOO_LOW)):
                too_low[name] = low
    assert (too_wide, too_low, pale) == ({}, {}, {})


def test_light_and_dark_differ(windows, people):
    page = windows.open(people("requester"), "/chats/", color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    assert (light, page.evaluate(ground)) == ("rgb(244, 245, 247)", "rgb(17, 22, 28)")


def test_the_menu_works_by_keyboard_and_a_theme_applies_at_once_and_stays(windows, people):
    page = windows.open(people("auditor"), "/chats/", color_scheme="light")
    page.locator(".user").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.textContent.includes('Profile and settings')")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    page.keyboard.press("End")
    assert page.locator(":focus").inner_text() == "Log out"
    with page.expect_response("**/settings/theme/") as stored:
        page.get_by_role("button", name="Dark").click()
    assert stored.value.status == 204
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.className") == "user"
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(17, 22, 28)"
    page.reload()
    assert page.evaluate(ground) == "rgb(17, 22, 28)"
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
    assert page.locator(":focus").inner_text() == "Skip to content"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    page.keyboard.press("Enter")
    assert page.url.endswith("/chats/#main")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "text"
