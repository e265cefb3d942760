"""One grid for all pages: one row of filters, rows for fingers, and one printed page for a request."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.places import LIVE, SHIFTS, shifts_of
from tests.proofs.browser.test_inbox import batches, row
from tests.support.machine import Remote
from tests.support.processes.server import until

pytestmark = pytest.mark.browser

EVERY_FILTER = (
    "/?status=any&kind=approval&priority=normal&tool=issueRefund&agent=support&person=requester&by=approver"
    "&age=under-30d&mine=1&q=refund"
)
#: The height of the bar, and whether anything in it is wider than it.
BAR = """bar => [bar.getBoundingClientRect().height, [...bar.children].filter(
    one => one.getBoundingClientRect().right > bar.getBoundingClientRect().right + .5).length]"""
INVOICE = {"invoice": "R-2291", "customer": "Nordwind", "amount": 1890, "currency": "EUR", "reason": "delivered twice"}


def test_the_bar_is_one_row_with_every_filter_set(windows, people):
    page = windows.open(people("approver"), EVERY_FILTER, viewport={"width": 1280, "height": 800})
    expect(page.locator(".chips .chip[data-chip]")).to_have_count(9)
    until(lambda: page.locator(".filter-bar").evaluate(BAR) == [34, 0], "the bar is one row")


def test_a_filter_is_set_by_keys_alone(windows, people):
    page = windows.open(people("approver"))
    page.locator(".filter-menu > summary").focus()
    page.keyboard.press("Enter")
    page.locator("[data-chip=status] > summary:focus").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("[data-chip=kind][open]").wait_for()
    page.keyboard.press("Escape")
    page.locator("[data-chip=kind]:not([open])").wait_for()
    page.keyboard.press("Enter")
    page.locator("[data-chip=kind][open]").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?kind=approval")
    expect(page.locator(".chips .chip[data-chip=kind] > summary")).to_have_text("Kind: Approval")


def test_a_filter_is_set_without_javascript(windows, people):
    page = windows.open(people("approver"), java_script_enabled=False)
    page.get_by_text("Filter", exact=True).click()
    page.locator("[data-chip=priority] > summary").click()
    page.get_by_role("link", name="High", exact=True).click()
    expect(page).to_have_url(re.compile(r"/\?priority=high$"))


def test_requests_are_selected_and_decided_together_on_a_phone(windows, people, server):
    word = f"phone{next(batches)}"
    remote = Remote(server, "requester", ("ask",))
    requests = [remote.ask(title=f"Pay {word} {number}?", tool_name="pay")["id"] for number in range(3)]
    page = windows.open(people("approver"), f"/?q={word}", viewport={"width": 360, "height": 740}, has_touch=True)
    cell = row(page, requests[0]).locator(".pick")
    # Next to the box, but within its group.
    cell.tap(position={"x": 3, "y": 3})
    row(page, requests[1]).get_by_role("checkbox").tap()
    # The click comes a moment after the touch.
    page.locator("#bulk-count", has_text="2 selected").wait_for()
    place = "bar => { const { x, width, bottom } = bar.getBoundingClientRect(); return [x, width, bottom <= 732]; }"
    until(lambda: page.locator("#bulk").evaluate(place) == [10, 340, True], "the bar is above the edge of the window")
    page.locator("#bulk").get_by_role("button", name="Approve…").tap()
    page.get_by_role("button", name="Approve 2 requests").tap()
    page.get_by_role("heading", name="2 requests approved").wait_for()


def test_a_request_and_its_record_are_one_printed_page_each(windows, people, server):
    asks, decides = Remote(server, "requester", ("ask",)), Remote(server, "approver", ("decide",))
    printed = {}
    for _ in range(6):
        made = asks.ask(title="Refund invoice R-2291?", tool_name="printInvoice", input=INVOICE, messages=[])["id"]
        decides.send("POST", f"/requests/{made}/decision", {"verdict": "approve", "comment": "Checked."})
    waiting = asks.ask(title="Refund invoice R-2292?", tool_name="printInvoice", input=INVOICE, timeout=900_000)["id"]
    page = windows.open(people("admin"))
    for address in (f"/requests/{waiting}/", f"/requests/{made}/", f"/requests/{made}/record/"):
        page.goto(server.address + address)
        printed[address] = len(re.findall(rb"/Type\s*/Page\b", page.pdf()))
    assert printed == dict.fromkeys(printed, 1)


#: How far content above and below the bar of an open edit is visible next to it, and the elements across its corners.
BAR_OF_EDIT = """() => {
    const bar = document.querySelector('.edit .decision-bar'), edges = bar.getBoundingClientRect();
    const around = bar.closest('.request').getBoundingClientRect(), { clientWidth: width } = document.documentElement;
    const across = [[edges.left, edges.top], [edges.right, edges.top], [edges.left, edges.bottom], [edges.right, edges.bottom]]
        .map(([x, y], at) => document.elementFromPoint(x + (at % 2 ? -2 : 2), y + (at > 1 ? -2 : 2)))
        .filter(one => !bar.contains(one)).map(one => one.outerHTML.slice(0, 80));
    return [Math.round(edges.left - around.left), Math.round(around.right - edges.right), across];
}"""


@pytest.mark.parametrize("width", [360, 1280])
def test_the_bar_of_an_open_edit_covers_its_line_and_nothing_stands_across_it(windows, people, server, width):
    remote = Remote(server, "requester", ("ask",))
    invoice = INVOICE | {f"line {number}": f"Lamp {number}" for number in range(12)}
    made = remote.ask(title="Refund invoice R-2293?", tool_name="editInvoice", input=invoice)["id"]
    page = windows.open(people("approver"), f"/#{made}", viewport={"width": width, "height": 740})
    page.locator(f"#request-{made}").wait_for()
    page.keyboard.press("e")
    page.locator(".edit[open] .decision-bar").wait_for()
    # Opening it scrolls, and a push may still be on its way: it comes to rest so.
    until(lambda: page.evaluate(BAR_OF_EDIT) == [0, 0, []], "the bar covers its line, with nothing across it")


#: Every page is loaded on a phone, and in a common window by test_looks.py; those that change their columns with the width in
#: others, too.
PHONE, COMMON, ALSO = 360, 1280, (820, 1600, 2560)
WITH_COLUMNS = {"request", "opened", "desk", "decided", "workflow", "waiting", "critical", "form", "mixed", "insights"}


def test_nothing_moves_while_a_page_loads(windows, people, server, places):
    made = Remote(server, "requester", ("ask",)).ask(title="Refund invoice R-2294?", tool_name="shift", input=INVOICE)
    opened = {"request": ("approver", f"/requests/{made['id']}/"), "opened": ("approver", f"/#{made['id']}")}
    windows.tolerate(" 404 ")
    of_person, moved = {}, {}
    # The style guide is for developers of pages, and shows the parts of all of them at once.
    for name, (who, path) in {**opened, **{n: place for n, place in places.items() if n != "styleguide"}}.items():
        if who not in of_person:
            of_person[who] = windows.open(people(who)) if who else windows.stranger(server)
            of_person[who].add_init_script(SHIFTS)
        page = of_person[who]
        for width in (PHONE, *([COMMON] if name in opened else []), *(ALSO if name in WITH_COLUMNS else ())):
            page.set_viewport_size({"width": width, "height": 800})
            if "#" in path:
                # Going to where the page is already, after its `#`, would not load it.
                page.goto("about:blank")
            page.goto(server.address + path)
            if page.locator("#live").count():
                page.wait_for_selector(LIVE, state="attached")
            if name == "opened":
                page.locator(f"#request-{made['id']}").wait_for()
            if shifts := shifts_of(page):
                moved[name, width] = shifts
    assert moved == {}


def test_nothing_moves_while_a_page_arrives_bit_by_bit(windows, people, server, places):
    page = windows.open(people("approver"))
    page.add_init_script(SHIFTS)
    slow = {"offline": False, "latency": 30, "downloadThroughput": 60_000, "uploadThroughput": 100_000}
    connection = page.context.new_cdp_session(page)
    connection.send("Network.enable")
    connection.send("Network.emulateNetworkConditions", slow)
    moved = {}
    for name in ("form", "waiting"):
        _, path = places[name]
        page.goto(server.address + path)
        page.wait_for_selector(LIVE, state="attached")
        if shifts := shifts_of(page):
            moved[name] = shifts
    assert moved == {}
