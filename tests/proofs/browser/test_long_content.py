"""Content as long as the API allows wraps or is cut, and widens nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.test_forms import LAST_HOUR, TRIP
from tests.proofs.browser.test_looks import OVERFLOW, PHONE
from tests.support.machine import Remote
from tests.support.processes.server import Person, Server

pytestmark = pytest.mark.browser

DESKTOP, HEIGHT = 1280, 800
TOOL = "com.example.billing.refunds.issuePartialRefundForOrder"
URL = "https://erp.example.com/api/v2/customers/000000000042/invoices/0001"
NAME = "beneficiary_account_international_bank_number_iban"
SAID = "s" * 1000
#: Requests of agents on an ordinary day, and the largest possible ones.
USUAL = {
    "critical": {
        "title": "Refund?",
        "tool_name": TOOL,
        "input": {"table": {NAME: 1}, NAME[:48]: "a"},
        "priority": "critical",
    },
    "form": {
        "kind": "form",
        "title": "Which one?",
        "tool_name": "",
        "input": {},
        "response_schema": {
            "type": "object",
            "properties": {
                "link": {"enum": [URL, f"{URL}2"]},
                "links": {"type": "array", "items": {"enum": [URL, f"{URL}2"]}, "uniqueItems": True},
                NAME: {"type": "object", "properties": {NAME: {"type": "string"}}},
            },
        },
    },
}
WIDE, DEEP = "W" * 200, {"W" * 199 + str(number): {"W" * 200: ["v" * 1000, {"W" * 200: 1}]} for number in range(3)}
FIELDS = {
    "type": "object",
    "properties": {
        "a" + WIDE: {"type": "string", "description": SAID, "maxLength": 3},
        "b" + WIDE: {"enum": ["W" * 500, "w" * 500]},
        "c" + WIDE: {"enum": [f"{number}{'W' * 499}" for number in range(9)]},
        "d" + WIDE: {"type": "array", "items": {"enum": ["W" * 500, "w" * 500]}, "uniqueItems": True},
        "e" + WIDE: {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "f" + WIDE: {"type": "object", "properties": {WIDE: {"type": "object", "properties": {WIDE: TRIP}}}},
        "g" + WIDE: {"const": "W" * 500},
        "h" + WIDE: {"type": "object"},
        "i" + WIDE: {"type": "boolean"},
    },
    "required": ["a" + WIDE],
}
UTMOST: dict[str, Any] = {
    "title": WIDE,
    "message": SAID,
    "agent": "A" * 100,
    "step_path": ["p" * 200],
    "timeout": LAST_HOUR,
    "context": DEEP,
    "messages": [{"role": "user", "text": SAID}],
}
EXTREMES = {
    "approval": {"tool_name": "T" * 100, "input": DEEP, "priority": "critical", "step_path": []},
    "quick": {"tool_name": "T" * 100, "input": {WIDE: SAID}, "step_path": []},
    "choice": {"kind": "question", "options": [{"label": "L" * 500, "description": SAID}] * 2, "allow_text": True},
    "several": {"kind": "question", "options": [{"label": "L" * 500, "description": SAID}] * 2, "multiple": True},
    "suggested": {"kind": "question", "suggestions": ["S" * 500] * 2, "default_response": "d" * 1000},
    "fields": {"kind": "form", "response_schema": FIELDS},
}
UNFOLD = "document.querySelectorAll('details').forEach(one => { one.open = true; })"
#: Content beyond the right edge of its box that can't be scrolled to.
JUTS = """() => {
    const boxes = '.workflow-row, .request, .panel, .inbox-row, .internal-note, .message, .option, .choice, .outcome, main';
    const found = {};
    for (const one of document.querySelectorAll('main *')) {
        const box = one.parentElement.closest(boxes);
        if (!one.checkVisibility() || one.closest('.visually-hidden, svg, select, table.list, .bulk-table')) continue;
        let inner = one.parentElement;
        while (inner !== box && getComputedStyle(inner).overflowX === 'visible') inner = inner.parentElement;
        const over = one.getBoundingClientRect().right - box.getBoundingClientRect().right;
        if (inner === box && over > 1) found[`${one.tagName}.${one.className} in ${box.className}`] = Math.round(over);
    }
    return found;
}"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory, real_processes) -> Iterator[Server]:
    """Start a separate server, so that these requests do not appear in the lists of other tests."""
    with Server(tmp_path_factory.mktemp("long")) as running:
        yield running


@pytest.fixture(scope="module")
def agent(desk) -> Remote:
    return Remote(desk, "requester")


@pytest.fixture(scope="module")
def asked(desk, agent) -> dict[str, str]:
    """Return the id of each request by name."""
    ids = {name: agent.ask(**body)["id"] for name, body in USUAL.items()}
    for name, body in EXTREMES.items():
        ids[name] = agent.ask(**{"tool_name": "", "input": {}} | UTMOST | body)["id"]
    return ids


@pytest.fixture(scope="module")
def approver(desk) -> Person:
    return desk.person("approver")


@pytest.fixture(scope="module")
def auditor(desk) -> Person:
    return desk.person("auditor")


def too_wide(page) -> dict[Any, Any]:
    """Return by how much the page or an element is too wide, on a phone and on a desktop."""
    found = {}
    page.wait_for_load_state("load")  # without its styles a page is wider
    for width in (PHONE, DESKTOP):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        if (over := page.evaluate(OVERFLOW)) > 0:
            found[width] = over
        if juts := page.evaluate(JUTS):
            found[width, "within"] = juts
    return found


def looked_at(page, desk: Server, *paths: str) -> dict[Any, Any]:
    """Return the elements that are too wide on these pages, as loaded and with all details open."""
    found = {}
    for path in paths:
        page.goto(desk.address + path)
        for state in ("as it comes", "unfolded"):
            if wide := too_wide(page):
                found[path, state] = wide
            page.evaluate(UNFOLD)
    return found


def workflow_of(desk: Server, request: str) -> str:
    sql = "SELECT workflow_id FROM approvals_approvalrequest WHERE id = ?"
    return f"/workflows/{desk.value(sql, request.replace('-', ''))}/"


def test_ordinary_names_do_not_widen_pages(windows, desk, asked, approver):
    page = windows.open(approver, "/", reduced_motion="reduce")
    paths = [f"/requests/{asked[name]}/" for name in USUAL]
    assert looked_at(page, desk, *paths) == {}
    page.goto(desk.address + paths[0])
    page.get_by_role("link", name="Edit…").click()
    page.get_by_label(NAME[:48], exact=True).fill("b")
    page.locator(".edit [name=typed_name]").fill(TOOL)
    page.get_by_role("button", name="Review changes").click()
    page.locator(".changes").wait_for()
    assert too_wide(page) == {}


def test_longest_allowed_requests_do_not_widen_pages(windows, desk, asked, agent, approver, auditor):
    # A decided request with an edit, a message and a result, and the same request again, so that it has a precedent.
    edited = agent.ask(**UTMOST | EXTREMES["quick"])
    changes = {"verdict": "edit", "comment": SAID, "edited_input": {WIDE: "e" * 1000}}
    assert Remote(desk, "approver").send("POST", f"/requests/{edited['id']}/decision", changes).status == 200
    rejected = agent.ask(**UTMOST | EXTREMES["quick"])
    approver.decide(rejected["id"], verdict="reject", comment=SAID)
    answered = agent.ask(**{"tool_name": "", "input": {}} | UTMOST | EXTREMES["choice"])
    approver.decide(answered["id"], verdict="respond", choice=1)
    for name in EXTREMES:
        approver.post(
            f"/requests/{asked[name]}/comments/", text=f"{SAID}\n\n`{SAID}`\n\n[{SAID}](https://example.com/{SAID})"
        )
    ids = [*asked.values(), edited["id"], rejected["id"], answered["id"]]
    cards = [f"/requests/{one}/" for one in ids]
    flows = [workflow_of(desk, one) for one in ids]
    lists = ["/requests/", "/requests/?group=tool", "/requests/?group=agent", "/requests/?status=any", "/workflows/"]
    searched = [f"/requests/?q={WIDE}&tool={'T' * 100}", f"/requests/?status={WIDE}"]
    page = windows.open(approver, "/", reduced_motion="reduce")
    windows.tolerate(" 400 ", " 422 ")
    assert looked_at(page, desk, "/", *lists, *searched, *cards, *flows) == {}
    page.context.close()
    # The same content without the forms: a waiting request, and one with an answer.
    reads = windows.open(auditor, "/", reduced_motion="reduce")
    assert looked_at(reads, desk, "/", "/requests/", "/insights/", cards[0], cards[-1], flows[-1]) == {}


def test_long_requests_and_refused_forms_do_not_widen_the_inbox(windows, desk, asked, approver):
    windows.tolerate(" 422 ")
    page = windows.open(
        approver, "/requests/?group=tool", reduced_motion="reduce", viewport={"width": 1280, "height": 900}
    )
    page.locator(".row-title").first.wait_for()
    opened = {}
    for request in asked.values():
        page.locator(f"#row-{request} .row-title").click()
        page.locator(f"#detail-body #request-{request}").wait_for()
        page.evaluate(UNFOLD)
        if wide := too_wide(page):
            opened[request] = wide
    page.goto(f"{desk.address}/requests/{asked['fields']}/")
    page.locator("input[name]:not([type=hidden]):visible").first.fill("too long")
    page.get_by_role("button", name="Answer").click()
    page.locator(".refusal").wait_for()
    if wide := too_wide(page):
        opened["refused"] = wide
    page.goto(f"{desk.address}/requests/{asked['quick']}/")
    page.evaluate(UNFOLD)
    page.locator(".edit textarea").first.fill("e" * 1000)
    page.locator(".edit [name=comment]").fill(SAID)
    page.get_by_role("button", name="Review changes").click()
    # The context is so long that it was never in view.
    page.locator(".refusal", has_text="You haven't seen").wait_for()
    page.get_by_role("button", name="Review changes").click()
    page.locator(".review .changes").wait_for()
    if wide := too_wide(page):
        opened["review"] = wide
    assert opened == {}


def test_bulk_pages_of_long_requests_do_not_widen(windows, desk, asked, approver):
    page = windows.open(approver, "/requests/", viewport={"width": 1280, "height": 900})
    page.locator(f"#row-{asked['quick']} [name=pick]").check()
    page.locator(f"#row-{asked['fields']} [name=pick]").check()
    page.locator("#bulk-comment").fill(SAID)
    page.get_by_role("button", name="Reject…").click()
    page.locator(".bulk-table").first.wait_for()
    sure = too_wide(page)
    page.get_by_role("button", name="Reject").click()
    page.get_by_role("link", name="Back to the Inbox").wait_for()
    assert (sure, too_wide(page)) == ({}, {})


def test_chat_with_long_words_does_not_widen(windows, desk):
    person = desk.person("requester")
    chat, request = person.pause(f"Please refund order {'z' * 49}, 500 euros")
    said = person.start_chat(f"hello {SAID}")
    desk.wait_for_turn(said, "completed")
    page = windows.open(person, "/chats/", reduced_motion="reduce")
    paths = ["", "timeline/", "checkpoints/", "compare/"]
    assert (
        looked_at(
            page,
            desk,
            "/chats/",
            f"/requests/{request}/",
            *[f"/chats/{chat}/{path}" for path in paths],
            f"/chats/{said}/",
        )
        == {}
    )


def test_hidden_button_is_not_visible(windows, desk, agent, approver):
    stops = {"type": "array", "items": {"type": "string"}, "maxItems": 4}
    form = {"type": "object", "properties": {"stops": stops}}
    asked = agent.ask(kind="form", title="Where?", tool_name="", input={}, response_schema=form)
    page = windows.open(approver, "/requests/?q=nothing-like-this", viewport={"width": DESKTOP, "height": 900})
    expect(page.locator("#bulk-every")).to_be_hidden()
    page.goto(f"{desk.address}/requests/{asked['id']}/")
    add = page.get_by_role("button", name="Add a row")
    for _ in range(4 - page.locator(".list-rows input").count()):
        add.click()
    expect(page.locator(".list-rows input")).to_have_count(4)
    expect(page.locator(".list-rows + button")).to_be_hidden()


def test_right_to_left_text_does_not_rearrange_its_surroundings(windows, desk, agent, approver):
    agent.ask(
        title="\u202eRefund \u05d0\u05d1\u05d2", tool_name="refund", agent="\u05d0\u05d1\u05d2 1", input={"amount": 1}
    )
    page = windows.open(approver, "/")
    directions = page.evaluate(
        "[...document.querySelectorAll('main :is(a, b, code)')].map(one => getComputedStyle(one).unicodeBidi)"
    )
    assert set(directions) == {"isolate"}
