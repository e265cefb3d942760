"""Forms from schemas and edits in a browser: writing, adding rows, refusals and reviews."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.machine import Remote

pytestmark = pytest.mark.browser

#: A deadline that is counted down, and that a slow machine does not reach either: 50 minutes, in milliseconds.
LAST_HOUR = 3_000_000
TRIP = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 9, "title": "Full name", "description": "As in the passport"},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9, "title": "Seats"},
        "class": {"enum": ["economy", "business"], "title": "Class"},
        "country": {"enum": ["Austria", "Belgium", "Denmark", "France", "Germany", "Italy"], "title": "Country"},
        "day": {"type": "string", "format": "date", "title": "Day"},
        "stops": {"type": "array", "items": {"type": "string"}, "title": "Stops", "maxItems": 4},
        "contact": {
            "type": "object",
            "title": "Contact",
            "properties": {"phone": {"type": "string", "title": "Phone"}},
        },
        "shape": {"type": "object", "title": "Shape"},
    },
    "required": ["name", "seats", "class"],
}


@pytest.fixture
def agent(server):
    return Remote(server, "requester", ("ask", "read"))


@pytest.mark.parametrize("scripted", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_form_with_errors_is_corrected_and_sent(windows, people, agent, scripted):
    windows.tolerate(" 422 ")
    asked = agent.ask(kind="form", title="Whom?", response_schema=TRIP, timeout=LAST_HOUR)
    page = windows.open(people("approver"), f"/requests/{asked['id']}/", java_script_enabled=scripted)
    page.get_by_label("Full name").fill("A name too long")
    page.get_by_label("Seats").fill("three")
    if scripted:
        # Enter in one of several fields sends nothing; Ctrl+Enter does, and all problems are named at once.
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.url) if "/decide/" in request.url else None)
        page.keyboard.press("Enter")
        page.keyboard.press("Control+Enter")
        named = page.locator(".refusal li b")
        expect(named).to_have_text(["Full name", "Seats", "Class"])
        expect(page.get_by_label("Full name")).to_be_focused()
        assert len(sent) == 1
    page.get_by_label("business").check()
    page.get_by_label("Country").select_option("Italy")
    page.get_by_label("Day").fill("2026-12-24")
    page.get_by_label("Stops 1").fill("Rome")
    if scripted:
        page.get_by_role("button", name="Add a row").click()
        page.keyboard.type("Pisa")
        # With the day, if it is tomorrow.
        expect(page.locator(".deadline .left")).to_have_text(re.compile(r"at (\w+ \d+, )?\d\d:\d\d$"))
    page.get_by_label("Phone").fill("+43 1")
    page.get_by_role("button", name="Answer").click()
    expect(page.locator(".refusal li b")).to_have_text(["Full name", "Seats"])
    seats = page.get_by_label("Seats")
    expect(seats).to_have_attribute("aria-invalid", "true")
    expect(seats).to_have_value("three")
    page.locator(".refusal").get_by_role("link", name="Full name").click()
    page.get_by_label("Full name").fill("Jane")
    seats.fill("3")
    page.get_by_role("button", name="Answer").click()
    page.locator(".outcome").wait_for()
    document = agent.send("GET", f"/requests/{asked['id']}").body
    assert document["decision"]["answer"] == {
        "name": "Jane",
        "seats": 3,
        "class": "business",
        "country": "Italy",
        "day": "2026-12-24",
        "stops": ["Rome", "Pisa"] if scripted else ["Rome"],
        "contact": {"phone": "+43 1"},
    }


@pytest.mark.parametrize("scripted", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_a_changed_input_is_reviewed_changed_again_and_approved(windows, people, agent, scripted):
    asked = agent.ask(input={"amount": 120, "to": {"name": "Jane"}}, tool_call_id=f"review-{scripted}")
    page = windows.open(people("approver"), f"/requests/{asked['id']}/", java_script_enabled=scripted)
    (page.get_by_role("link", name="Edit…") if scripted else page.locator("details.edit > summary")).click()
    page.get_by_label("amount").fill("80")
    page.get_by_role("button", name="Review changes").click()
    expect(page.locator(".review-title")).to_have_text("You are about to approve this with 1 change")
    if scripted:
        page.locator(".review-title:focus").wait_for()
        page.keyboard.press("e")
        expect(page.locator(":focus")).to_have_text("Edit again")
    page.get_by_role("button", name="Edit again").click()
    if scripted:
        page.locator("details.edit > summary:focus").wait_for()
    expect(page.get_by_label("amount")).to_have_value("80")
    page.get_by_label("name", exact=True).fill("Joan")
    page.get_by_role("button", name="Review changes").click()
    expect(page.locator(".changes del")).to_have_text(["120", "Jane"])
    expect(page.locator(".changes ins")).to_have_text(["80", "Joan"])
    page.get_by_role("button", name="Approve with changes").click()
    page.locator(".outcome").wait_for()
    made = agent.send("GET", f"/requests/{asked['id']}").body["decision"]
    assert (made["verdict"], made["approved_input"]) == ("edit", {"amount": 80, "to": {"name": "Joan"}})


def test_a_time_is_typed_in_the_zone_of_the_person_and_sent_in_utc(windows, people, agent):
    moment = {"type": "string", "format": "date-time"}
    schema = {"type": "object", "properties": {"start": {**moment, "title": "Start"}}, "required": ["start"]}
    schema["properties"]["breaks"] = {"type": "array", "items": moment, "title": "Breaks"}
    asked = agent.ask(kind="form", title="When?", response_schema=schema)
    page = windows.open(people("approver"), f"/requests/{asked['id']}/", timezone_id="Europe/Vienna", locale="en-GB")
    page.get_by_label("Start").fill("2026-12-24T15:00")
    page.get_by_label("Breaks 1").fill("2026-07-02T01:30:05")
    page.get_by_role("button", name="Add a row").click()
    zones = [
        "in your time zone, Europe/Vienna (2026-12-24 14:00:00 UTC)",
        "in your time zone, Europe/Vienna (2026-07-01 23:30:05 UTC)",
        "in your time zone, Europe/Vienna",
        "in your time zone, Europe/Vienna",
    ]
    expect(page.locator(".zone")).to_have_text(zones)
    page.get_by_role("button", name="Answer").click()
    page.locator(".outcome").wait_for()
    answer = {"start": "2026-12-24T14:00:00Z", "breaks": ["2026-07-01T23:30:05Z"]}
    assert agent.send("GET", f"/requests/{asked['id']}").body["decision"]["answer"] == answer


def test_an_unchanged_time_stays_exactly_as_it_was_when_the_clocks_change(windows, people, agent):
    # 02:30 exists twice in Vienna on that night; this is the second one.
    proposed = {"at": "2026-10-25T01:30:00Z", "seats": 1}
    schema = {"type": "object", "properties": {"at": {"type": "string", "format": "date-time", "title": "At"}}}
    asked = agent.ask(tool_name="book", title="Book?", input=proposed, response_schema=schema)
    page = windows.open(people("approver"), f"/requests/{asked['id']}/", timezone_id="Europe/Vienna", locale="en-GB")
    page.locator("a.to-edit, summary:has-text('Approve with changes')").first.click()
    at = page.get_by_role("textbox", name="At (optional)")
    expect(at).to_have_value(re.compile("^2026-10-25T02:30"))
    at.fill("2026-10-25T12:00")
    at.fill("2026-10-25T02:30:00")
    page.get_by_label("seats").fill("2")
    page.get_by_role("button", name="Review changes").click()
    page.locator(".changes").wait_for()
    page.get_by_role("button", name="Approve with changes").click()
    page.locator(".outcome").wait_for()
    made = agent.send("GET", f"/requests/{asked['id']}").body["decision"]
    assert made["approved_input"] == {"at": "2026-10-25T01:30:00Z", "seats": 2}


ORDER = {
    "type": "object",
    "properties": {
        "customer": {"type": "string", "maxLength": 40, "title": "Customer"},
        "items": {
            "type": "array",
            "title": "Items",
            "maxItems": 5,
            "items": {
                "type": "object",
                "properties": {
                    "sku": {"type": "string", "maxLength": 12, "title": "SKU"},
                    "quantity": {"type": "integer", "minimum": 1, "title": "Quantity"},
                    "wrapping": {"enum": ["none", "gift"], "title": "Wrapping"},
                },
                "required": ["sku", "quantity"],
            },
        },
    },
}


def test_a_list_of_objects_is_edited_in_rows(windows, people, agent):
    windows.tolerate(" 422 ")
    items = [{"sku": "CUP-1", "quantity": 2, "wrapping": "gift"}, {"sku": "CUP-2", "quantity": 1}]
    asked = agent.ask(
        tool_name="order", title="Order cups?", input={"customer": "Acme", "items": items}, response_schema=ORDER
    )
    page = windows.open(people("approver"), f"/requests/{asked['id']}/")
    page.locator("a.to-edit, summary:has-text('Approve with changes')").first.click()

    def row(number: int):
        return page.get_by_role("group", name=f"Items {number}", exact=True)

    row(1).get_by_label("Quantity").fill("three")
    row(2).get_by_role("button", name="Remove this row").click()
    page.get_by_role("button", name="Add a row").click()
    page.keyboard.type("CUP-3")
    row(4).get_by_label("Quantity").fill("4")
    row(4).get_by_label("Wrapping").select_option("none")
    page.get_by_role("button", name="Review changes").click()
    page.locator(".refusal").get_by_role("link", name="Items 1, Quantity").click()
    expect(row(1).get_by_label("Quantity")).to_have_attribute("aria-invalid", "true")
    row(1).get_by_label("Quantity").fill("3")
    page.get_by_role("button", name="Review changes").click()
    page.locator(".changes").wait_for()
    page.get_by_role("button", name="Approve with changes").click()
    page.locator(".outcome").wait_for()
    made = agent.send("GET", f"/requests/{asked['id']}").body["decision"]
    assert made["approved_input"] == {
        "customer": "Acme",
        "items": [
            {"sku": "CUP-1", "quantity": 3, "wrapping": "gift"},
            {"sku": "CUP-3", "quantity": 4, "wrapping": "none"},
        ],
    }


PAYMENT = {
    "type": "object",
    "properties": {
        "method": {"enum": ["card", "bank"], "title": "Method"},
        "amount": {"type": "number", "title": "Amount", "x-currency": "EUR"},
        "owner": {"type": "string", "format": "person", "title": "Owner"},
    },
    "required": ["method"],
    "allOf": [
        {
            "if": {"properties": {"method": {"const": "bank"}}, "required": ["method"]},
            "then": {"properties": {"iban": {"type": "string", "title": "IBAN"}}, "required": ["iban"]},
        },
        {
            "if": {"properties": {"amount": {"minimum": 1000}}, "required": ["amount"]},
            "then": {"title": "Large amounts", "properties": {"why": {"type": "string", "title": "Why"}}},
        },
    ],
    "oneOf": [
        {"title": "A person", "properties": {"to": {"const": "person"}, "name": {"type": "string", "title": "Name"}}},
        {
            "title": "A company",
            "properties": {"to": {"const": "company"}, "vat": {"type": "string", "title": "VAT number"}},
        },
    ],
}


@pytest.mark.parametrize("scripted", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_fields_of_a_case_are_there_while_it_applies(windows, people, agent, scripted):
    asked = agent.ask(kind="form", title="Pay whom?", response_schema=PAYMENT, tool_call_id=f"cases-{scripted}")
    page = windows.open(people("approver"), f"/requests/{asked['id']}/", java_script_enabled=scripted)
    cases = [
        page.get_by_label(name, exact=True)
        for name in ("IBAN (optional)", "IBAN", "Name (optional)", "VAT number (optional)", "Why (optional)")
    ]

    def shows(*states: bool) -> None:
        for field, state in zip(cases, states, strict=True):
            expect(field).to_be_visible(visible=state)

    shows(*([False] * 5 if scripted else [False, True, True, True, True]))
    page.get_by_label("card").check()
    page.get_by_label("A company").check()
    page.get_by_label("Amount").fill("999,50")
    shows(*([False, False, False, True, False] if scripted else [False, True, True, True, True]))
    page.get_by_label("Amount").fill("1000")
    page.get_by_label("bank").check()
    if scripted:
        shows(False, True, False, True, True)
    page.get_by_label("IBAN").fill("DE02")
    page.get_by_label("VAT number").fill("ATU1")
    page.get_by_label("Why").fill("A new roof")
    page.get_by_label("Owner").fill("request" if scripted else "requester")
    if scripted:
        page.get_by_role("option", name="requester").click()
    page.get_by_role("button", name="Answer").click()
    page.locator(".outcome").wait_for()
    assert agent.send("GET", f"/requests/{asked['id']}").body["decision"]["answer"] == {
        "method": "bank",
        "amount": 1000,
        "owner": "requester",
        "to": "company",
        "vat": "ATU1",
        "iban": "DE02",
        "why": "A new roof",
    }


def test_times_in_values_are_in_the_time_zone_of_the_browser(windows, people, agent):
    schema = {
        "properties": {"at": {"type": "string", "format": "date-time"}, "fee": {"type": "number", "x-currency": "EUR"}}
    }
    values = {"at": "2026-12-24T13:00:00Z", "fee": 1250}
    asked = agent.ask(tool_name="book", input=values, response_schema=schema, tool_call_id="zones")
    page = windows.open(people("approver"), f"/requests/{asked['id']}/", timezone_id="Asia/Tokyo")
    time = page.locator(".values time")
    expect(time).to_have_text("Dec 24, 2026, 22:00 (Asia/Tokyo)")
    expect(time).to_have_attribute("title", "2026-12-24T13:00:00Z")
    fee = page.locator(".values data")
    expect(fee).to_have_text("1,250.00 EUR")
    expect(fee).to_have_attribute("title", "1250")
