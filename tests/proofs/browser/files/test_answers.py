"""A form that asks for a file, in a browser: chosen, refused without loss of the other values, sent, and read again."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.places import axe, violations
from tests.proofs.browser.test_live import card
from tests.support.desk.files import PDF, TEXT
from tests.support.machine import Remote

__all__ = ["axe"]
pytestmark = pytest.mark.browser

CONTRACT = {
    "type": "object",
    "properties": {
        "contract": {
            "type": "string",
            "format": "file",
            "contentMediaType": "application/pdf",
            "title": "Signed contract",
        },
        "note": {"type": "string", "maxLength": 90, "title": "Remark"},
    },
    "required": ["contract"],
}


@pytest.mark.parametrize("scripted", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_a_person_sends_a_file_and_the_agent_reads_it(windows, people, server, axe, scripted):
    windows.tolerate(" 422 ")
    agent = Remote(server, "requester", ("ask", "read"))
    asked = agent.ask(kind="form", title="Send the signed contract", response_schema=CONTRACT)
    page = windows.open(people("approver"), f"/requests/{asked['id']}/", java_script_enabled=scripted)
    shown = card(page, asked["id"])
    field = shown.get_by_label("Signed contract")
    field.set_input_files({"name": "contract.txt", "mimeType": "text/plain", "buffer": TEXT})
    shown.get_by_label("Remark").fill("Both pages")
    if scripted:
        # A push replaces the card, and the chosen file stays.
        advice = {"hint": "look_closer", "text": "Is it signed?", "raise_priority": "high"}
        path = f"/requests/{asked['id']}/advice"
        assert Remote(server, "auditor", ("read", "advise")).send("POST", path, advice).status == 201
        shown.locator(".badge.priority-high").wait_for()
        expect(field).to_have_value(re.compile("contract.txt$"))
    shown.get_by_role("button", name="Answer").click()
    shown.locator(".refusal").wait_for()
    expect(shown.locator(".field-error")).to_have_text("This is text/plain, and has to be application/pdf.")
    expect(field).to_have_value("")
    expect(shown.get_by_label("Remark")).to_have_value("Both pages")
    if scripted:
        assert violations(page, axe) == {}
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=Path(folder) / f"file-field-{scripted}.png", full_page=True)
    field.set_input_files({"name": "contract.pdf", "mimeType": "application/pdf", "buffer": PDF})
    shown.get_by_role("button", name="Answer").click()
    shown.locator(".outcome").wait_for()
    if folder:
        page.screenshot(path=Path(folder) / f"file-answer-{scripted}.png", full_page=True)
    with page.expect_download() as downloaded:
        shown.get_by_role("link", name="contract.pdf").click()
    assert Path(downloaded.value.path()).read_bytes() == PDF
    answer = agent.send("GET", f"/requests/{asked['id']}").body["decision"]["answer"]
    assert (answer["contract"]["sha256"], answer["note"]) == (hashlib.sha256(PDF).hexdigest(), "Both pages")
