"""The journeys of an auditor, an administrator and a newcomer, from the first page to the last.

The journeys of the requester and the approver are in test_story.py.
"""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.places import LIVE
from tests.support.machine import Remote
from tests.support.processes.ports import free_port
from tests.support.processes.server import Person, Server, until
from tests.support.receiver import Receiver, answer

pytestmark = pytest.mark.browser

CLIPBOARD = {"permissions": ["clipboard-read", "clipboard-write"]}
READ_CLIPBOARD = "navigator.clipboard.readText()"
#: Everything in the content of a page that sends a form or decides.
DOORS = "main button[name=verdict]:visible, main input[name=pick]:visible"


def go(page, *names: str) -> None:
    """Follow links by their names, one after the other."""
    for name in names:
        with page.expect_navigation():
            page.get_by_role("link", name=name, exact=True).first.click()


def press(page, name: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).click()


def copied(page, label: str) -> str:
    """Press the button next to a text that is shown once; return the text from the clipboard."""
    box = page.locator(".copy", has=page.get_by_role("region", name=label, exact=True))
    box.get_by_role("button", name="Copy").click()
    box.get_by_text("Copied.").wait_for()
    assert page.evaluate(READ_CLIPBOARD) == box.locator("pre").inner_text()
    return str(page.evaluate(READ_CLIPBOARD))


def told(page) -> list[str]:
    """Return the events on the audit page, latest first."""
    return [event.inner_text().strip() for event in page.locator(".audit-event").all()]


def downloaded(page, name: str) -> Path:
    with page.expect_download() as download:
        page.get_by_role("link", name=name, exact=True).click()
    return Path(download.value.path())


def test_an_auditor_finds_a_decision_follows_it_both_ways_exports_it_and_cannot_decide(windows, people, server):
    windows.tolerate(" 403 ", " 404 ")
    remote = Remote(server, "requester", ("ask", "read"))
    refund = {"tool_name": "payBack", "input": {"amount": 777.25, "reason": "a broken cello"}}
    request = remote.ask(title="Pay back a cello?", **refund)["id"]
    people("approver").decide(request, verdict="reject", comment="It was insured.")
    waiting = remote.ask(title="Pay back a second cello?", **refund)["id"]

    page = windows.open(people("auditor"), "/", accept_downloads=True)
    go(page, "Audit")
    page.get_by_role("searchbox", name="Search").fill("cello 777.25")
    press(page, "Search")
    assert told(page) == ["Approval requested", "Rejected", "Approval requested"]
    page.locator("summary", has_text="Filter").click()
    page.get_by_label("Verdict").select_option("Rejected")
    press(page, "Apply")
    (line,) = page.locator(".audit-row").all()
    assert line.locator(".audit-event").inner_text().strip() == "Rejected"
    assert line.locator(".audit-note").inner_text() == "“It was insured.”"
    assert line.locator(".audit-who a").inner_text() == "approver"

    # From the entry to the request, and back to all entries of it.
    go(page, "Pay back a cello?")
    assert page.locator(".outcome p").first.inner_text().startswith("Rejected by approver")
    page.get_by_role("tab", name="Details").click()
    go(page, "Audit entries")
    assert told(page) == ["Rejected", "Approval requested"]

    files = {kind: downloaded(page, kind).read_text() for kind in ("CSV", "JSONL", "OCSF")}
    events = ["request.created", "request.decided"]
    assert [json.loads(entry)["event"] for entry in files["JSONL"].splitlines()] == events
    assert [json.loads(line)["metadata"]["event_code"] for line in files["OCSF"].splitlines()] == events
    # With a byte order mark.
    rows = list(csv.DictReader(files["CSV"].lstrip("\ufeff").splitlines()))
    assert [(row["Event"], row["Person"]) for row in rows][1:] == [("Rejected", "approver")]

    go(page, "Pay back a cello?")
    page.get_by_role("tab", name="Details").click()
    go(page, "Decision record")
    facts = page.locator(".facts").inner_text()
    assert [words in facts for words in ("Rejected\napprover", "It was insured.", request)] == [True, True, True]
    assert "777.25" in page.locator(".sheet").inner_text()
    go(page, "Back to the request", "Inbox")

    # Nothing on a page decides, and the addresses behind the buttons of others refuse.
    assert page.locator(DOORS).all_inner_texts() == []
    page.goto(f"{server.address}/requests/{waiting}/")
    expect(page.get_by_text("Waiting for someone who may decide this.")).to_have_count(1)
    assert page.locator("button[name=verdict], form.verdicts, form.comment").all_inner_texts() == []
    refused = [
        people("auditor").decide(waiting, verdict="approve").status,
        people("auditor").get("/settings/people/").status,
    ]
    assert (refused, remote.send("GET", f"/requests/{waiting}").body["status"]) == ([403, 404], "pending")


#: The audit events of the administrator's journey, latest first.
ON_RECORD = [
    "Loosened by one administrator alone",
    "Settings of a tool changed",
    "Webhook changed",
    "Event sent again",
    "Webhook changed",
    "Loosened by one administrator alone",
    "API key created",
    "Person changed",
    "Invitation sent or cancelled",
    # Their role, and a link with which its holder chooses the password.
    "Loosened by one administrator alone",
    "Loosened by one administrator alone",
    "Person added",
    "Team changed",
]


def add_person(page, name: str, *roles: str) -> str:
    """Add a person in the settings; return the link for their password."""
    page.get_by_text("Add a person").click()
    page.get_by_label("Username", exact=True).fill(name)
    for role in ("Requester", *roles):
        page.get_by_role("checkbox", name=f"{role}: ").set_checked(role in roles)
    press(page, "Add and invite")
    return copied(page, "Link to set a password")


def make_key(page, name: str, user: str) -> str:
    """Create an API key in the settings; return it."""
    page.get_by_text("New API key").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Acts for").fill(user)
    press(page, "Create key")
    return copied(page, "API key")


@pytest.fixture
def desk(tmp_path: Path):
    """A server of its own: with a policy of another test, more would be on record."""
    with Server(tmp_path, HITL_WEBHOOK_ALLOW_PRIVATE="1") as running:
        yield running


def test_an_administrator_sets_the_desk_up_and_each_step_is_on_record(desk, windows):
    windows.tolerate(" 422 ")
    page = windows.open(desk.person("admin"), "/settings/", **CLIPBOARD)
    go(page, "People and teams")
    page.get_by_placeholder("New team").fill("Night shift")
    press(page, "Add team")
    link = add_person(page, "erin", "Approver")
    assert link.startswith("http")
    go(page, "Done")
    page.get_by_label("Night shift").check()
    press(page, "Save")
    go(page, "People and teams")
    assert page.locator(".people .row", has_text="erin").locator(".badge").all_inner_texts() == [
        "Invited",
        "Approver",
        "Night shift",
    ]

    go(page, "API keys")
    key = make_key(page, "night agent", "requester")
    go(page, "Done")
    # Only the beginning is listed.
    listed = page.locator(".row", has_text="night agent")
    assert (listed.locator("code").inner_text(), key in page.content()) == (f"{key[:11]}…", False)

    agent = Remote(desk, "requester", key=key)
    with Receiver(lambda got: answer(503)) as there:
        go(page, "Webhooks")
        page.get_by_text("Add a webhook").click()
        page.get_by_label("Name", exact=True).fill("Books")
        page.get_by_label("Address").fill(there.url())
        press(page, "Add")
        secret = copied(page, "Webhook secret")
        go(page, "Done")
        request = agent.ask(
            title="Pay for the night?", tool_name="payNight", input={"pay": {"amount": 31, "to": "Zoë"}}
        )
        failed = "SELECT COUNT(*) FROM approvals_outboxevent WHERE last_error LIKE '%503%'"
        until(lambda: desk.value(failed), "the webhook has failed once")
        page.reload()
        delivery = page.locator(".deliveries tbody tr", has_text="request.created")
        assert delivery.locator(".badge").inner_text() == "Will be tried again"
        assert "503" in delivery.inner_text()
        there.behave = lambda got: answer(204)
        press(page, "Send request.created again")
        accepted = until(lambda: there.got[1:], "the delivery that was sent again")[0]
        assert accepted.told(secret)["data"]["request_id"] == request["id"]
        until(lambda: not desk.value(f"{failed} AND delivered_at IS NULL"), "it is noted as delivered")
        page.reload()
        expect(delivery.locator(".badge")).to_have_text("Delivered")
        press(page, "Remove webhook")

    set_up_the_tool(page)
    approver = windows.open(desk.person("approver"), f"/requests/{request['id']}/")
    assert approver.locator(".key-values").inner_text().split("\n") == ["amount", "31"]
    approver.get_by_role("button", name="Reject").click()
    approver.get_by_text(
        "A rejection of “payNight” needs a message to the agent. Explain why you reject it."
    ).wait_for()
    approver.get_by_role("textbox", name="Message to the agent", exact=True).fill("Not at night.")
    approver.get_by_role("button", name="Reject").click()
    approver.locator(".outcome blockquote", has_text="Not at night.").wait_for()

    go(page, "System")
    lines = [
        "Versions",
        "Database",
        "Second administrator",
        "Processes",
        "Redis",
        "Turns of agents",
        "Sweep",
        "Deliveries",
        "Disk of this process",
        "Files of requests",
    ]
    assert page.locator(".system-lines b").all_inner_texts() == [
        *lines,
        "Mail",
        "Single sign-on",
        "Second factors",
        "API keys",
        "Token issuers",
        "Device notifications",
        "Model",
    ]
    page.goto(f"{desk.address}/audit/?person=admin")
    assert told(page)[: len(ON_RECORD)] == ON_RECORD


def set_up_the_tool(page) -> None:
    """Choose a key field of the last request, and require reasons."""
    go(page, "Tools and agents", "payNight")
    page.get_by_role("button", name="Add /pay/amount to the key fields").click()
    page.get_by_label("A rejection needs a message").check()
    press(page, "Save")
    assert page.get_by_role("textbox", name="Key fields").input_value() == "/pay/amount"


@pytest.fixture
def fresh(tmp_path: Path):
    """A server with an empty database and its first administrator, as the documentation says."""
    prepare = 'call_command("migrate", verbosity=0)\ncall_command("createsuperuser", interactive=False, verbosity=0)'
    first = {"USERNAME": "ada", "EMAIL": "ada@example.org", "PASSWORD": "pausepoint"}
    server = Server(tmp_path, database="none", prepare=prepare)
    server.port = free_port()
    server.settings = {"PUBLIC_URL": server.address} | {f"DJANGO_SUPERUSER_{name}": first[name] for name in first}
    with server:
        yield server


def test_a_newcomer_gets_from_an_empty_database_to_the_first_answer(fresh, windows):
    page = windows.stranger(fresh, **CLIPBOARD)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill("pausepoint")
    press(page, "Log in")
    page.wait_for_selector(LIVE)
    page.evaluate("window.untouched = true")
    steps = page.get_by_role("region", name="Set up Pausepoint").get_by_role("listitem")
    heads = ["Add an approver", "Create an API key", "Ask the first question", "Answer it"]

    def done(*marks: str) -> None:
        """Wait until these steps are done, without a reload, and no others."""
        for head, mark in zip(heads, marks, strict=True):
            steps.filter(has_text=head).get_by_text(f"{mark}:").wait_for(state="attached")

    done("To do", "To do", "To do", "To do")
    beside = page.context.new_page()
    beside.goto(fresh.address)
    go(beside, "Add an approver")
    link = add_person(beside, "bob", "Approver")
    done("Done", "To do", "To do", "To do")
    bob = windows.open(Person(fresh, "nobody"), link.removeprefix(fresh.address))
    for field in bob.locator("input[type=password]").all():
        field.fill("correct horse battery")
    with bob.expect_navigation():
        bob.locator("main button").click()

    go(beside, "Inbox", "Create an API key")
    key = make_key(beside, "first agent", "ada")
    done("Done", "Done", "To do", "To do")
    page.bring_to_front()
    command = copied(page, "Command")
    ran = subprocess.run(["sh", "-ec", command.replace("YOUR_KEY", key)], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout)["status"] == "pending"
    done("Done", "Done", "Done", "To do")
    page.get_by_role("button", name="Show 1 new request").click()
    page.get_by_role("link", name="Which size?").wait_for()

    bob.goto(f"{fresh.address}/login/")
    if bob.get_by_label("Username").count():
        bob.get_by_label("Username").fill("bob")
        bob.get_by_label("Password").fill("correct horse battery")
        press(bob, "Log in")
    bob.get_by_role("link", name="Which size?").click()
    bob.get_by_role("button", name="M", exact=True).click()
    bob.locator(".outcome", has_text="“M”").wait_for()
    done("Done", "Done", "Done", "Done")
    assert page.evaluate("window.untouched")
    page.reload()
    expect(page.get_by_role("region", name="Set up Pausepoint")).to_have_count(0)
