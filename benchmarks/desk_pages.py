"""Measure how soon the Inbox shows a change, and how soon a click becomes a decision.

    .venv/bin/python -m benchmarks.desk_pages [ROUNDS]

A real server (SQLite, one process) and a headless Chromium on one machine and one clock, in milliseconds. "Pushed" is from
the commit of what happened, as stored, to the frame in which an open list shows it: a row that somebody else has decided,
and the note that there is a new one. "Pressed" is from the click on Approve in an open card to the frame that shows the
stored outcome. "Page" is the inbox of 50 rows, from the request to its last byte.

First it measures the inbox with 62 waiting requests: the time on the server, and the weight of the page without its scripts and
styles. The goals are 300 ms and 120 KiB; the script ends with status 1 if the page misses one.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.support.processes.server import Person, Server
from tests.support.services import CHROMIUM

WAITING, MOST_MS, MOST_KIB = 62, 300, 120
ASK = """
from django.contrib.auth.models import User
from approvals import actions
from approvals.asking.asks import Ask
from approvals.states import Kind
owner = User.objects.get(username="requester")
for number in range({rows}):
    workflow = actions.open_workflow(scope="key:1", key=f"bench-{{number}}", title="Bench", source="api", owner=owner)
    given = {{"order": str(number), "amount": number, "reason": "The parcel came back"}}
    ask = Ask(kind=Kind.APPROVAL, title=f"Refund {{number}}", tool_name="refund", input=given)
    actions.request_approval(workflow, ask, requested_by=owner)
"""
#: When the first frame was shown in which something fits the selector: `window.painted`, in ms since 1970.
PAINTED = """selector => { window.painted = new Promise(done => {
    const after = () => requestAnimationFrame(() => requestAnimationFrame(() => done(Date.now())));
    const look = () => document.querySelector(selector) && after();
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true, attributes: true });
    look();
}); }"""


def painted(page: Page, selector: str, act: Callable[[], Any]) -> float:
    """Do something, and return when the page first showed the result, in ms since 1970."""
    page.evaluate(PAINTED, selector)
    act()
    return float(page.evaluate("window.painted"))


def stored(server: Server, column: str, table: str, key: str, request: str) -> float:
    """Return the time of a change according to the database, in ms since 1970."""
    found = server.value(
        f"SELECT {column} FROM {table} WHERE {key} = ?", request.replace("-", "")
    )
    return datetime.fromisoformat(found).replace(tzinfo=UTC).timestamp() * 1000


def rows_of(page: Page) -> list[str]:
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('.inbox-list > .inbox-row.is-pending')].map(one => one.id.slice(4))"
    )
    return found


def pushed(server: Server, page: Page, other: Person, request: str) -> float:
    at = painted(
        page,
        f"[id='row-{request}']:not(.is-pending)",
        lambda: other.decide(request, verdict="reject"),
    )
    return at - stored(
        server, "decided_at", "approvals_decision", "request_id", request
    )


def announced(server: Server, page: Page, key: str) -> float:
    page.evaluate("document.getElementById('arrivals').replaceChildren()")
    made: list[str] = []

    def ask() -> None:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
        body = json.dumps({"kind": "approval", "title": "One more", "input": {}})
        head = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        connection.request("POST", "/api/v1/requests", body, head)
        made.append(json.loads(connection.getresponse().read())["id"])

    at = painted(page, "#arrivals > li", ask)
    return at - stored(server, "created_at", "approvals_approvalrequest", "id", made[0])


def pressed(page: Page, request: str) -> float:
    row = page.locator(f"[id='row-{request}']")
    row.locator(".row-title").click()
    button = page.locator(f"[id='request-{request}']").get_by_role(
        "button", name="Approve", exact=True
    )
    button.wait_for()
    page.evaluate(PAINTED, f"[id='row-{request}']:not(.is-pending)")
    took: float = button.evaluate(
        "button => { const start = Date.now(); button.click(); return window.painted.then(at => at - start); }"
    )
    return took


def read(person: Person) -> float:
    start = time.monotonic()
    assert person.get("/").status == 200
    return (time.monotonic() - start) * 1000


def line(name: str, found: list[float]) -> str:
    found.sort()
    return f"{name:<48}{found[len(found) // 2]:>10.0f}{found[int(len(found) * 0.95)]:>10.0f}{found[-1]:>10.0f}"


def weigh(folder: Path, rounds: int) -> bool:
    """Print time and weight of the inbox with 62 waiting requests, and return whether it reaches the goals."""
    with Server(folder) as server:
        server.run(ASK.format(rows=WAITING))
        person = server.person("approver")
        size = len(person.get("/").text.encode())
        read(person)
        found = sorted(read(person) for _ in range(rounds))
    median = found[len(found) // 2]
    print(
        f"inbox with {WAITING} waiting requests: {median:.0f} ms, {size / 1024:.0f} KiB"
    )
    print(f"goals: {MOST_MS} ms, {MOST_KIB} KiB\n")
    return median <= MOST_MS and size <= MOST_KIB * 1024


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as folder:
        good = weigh(Path(folder), rounds)
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(Path(folder)) as server,
        sync_playwright() as play,
    ):
        server.run(ASK.format(rows=2 * rounds + 50))
        me, other, key = (
            server.person("approver"),
            server.person("admin"),
            server.key("requester"),
        )
        context = play.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        ).new_context()
        context.add_cookies(
            [
                {"name": name, "value": value, "url": server.address}
                for name, value in me.cookies.items()
            ]
        )
        page = context.new_page()
        found: dict[str, list[float]] = {
            "pushed: decided elsewhere": [],
            "pressed: Approve to outcome": [],
        }
        ways = (
            lambda one: pushed(server, page, other, one),
            lambda one: pressed(page, one),
        )
        for name, measure in zip(found, ways, strict=True):
            while len(found[name]) < rounds:
                page.goto(f"{server.address}/?tool=refund&sort=oldest")
                page.wait_for_selector('#live[data-state="on"]')
                found[name] += [
                    measure(one) for one in rows_of(page)[: rounds - len(found[name])]
                ]
        page.goto(f"{server.address}/")
        page.wait_for_selector('#live[data-state="on"]')
        found["pushed: a new one is announced"] = [
            announced(server, page, key) for _ in range(rounds)
        ]
        found["page: 50 rows"] = [read(me) for _ in range(rounds)]
        print(f"{'ms':<48}{'p50':>10}{'p95':>10}{'max':>10}")
        for name, figures in found.items():
            print(line(name, figures))
    sys.exit(not good)


if __name__ == "__main__":
    main()
