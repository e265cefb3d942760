"""Every way to decide a request, each with its real client: made ready first, so that all can be pressed at one moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

from pausepoint import Desk, Refused

from tests.contract.ai_sdk.conftest import Driver
from tests.contract.ai_sdk.test_real_clients import Chat
from tests.contract.cedar.conftest import Page
from tests.support.machine import Remote
from tests.support.processes.server import PATIENCE, Server
from tests.support.root import ROOT

#: Runs the command `pausepoint` when told to.
COMMAND = "import sys; from pausepoint.cli import main; sys.stdin.readline(); sys.exit(main(sys.argv[1:]))"


class Pressed(NamedTuple):
    """Whether this was the first decision, and the decider named in the answer."""

    won: bool
    told: str


Door = Callable[[], Pressed]


def page(server: Server, name: str, request: str, verdict: str) -> Door:
    """A button of the request's page."""
    person = server.person(name)
    digest = _digest(person.get(f"/requests/{request}/").text)

    def press() -> Pressed:
        shown = person.post(f"/requests/{request}/decide/", digest=digest, verdict=verdict)
        return Pressed(shown.status == 302, shown.text)

    return press


def bulk(server: Server, name: str, request: str, verdict: str) -> Door:
    """The confirmation of a bulk decision."""
    person = server.person(name)
    pick = f"{request}:{_digest(person.get(f'/requests/{request}/').text)}"

    def press() -> Pressed:
        shown = person.post("/requests/bulk/", pick=pick, verdict=verdict, confirmed="yes")
        assert shown.status == 200, shown
        return Pressed({"approve": "Approved.", "reject": "Rejected."}[verdict] in shown.text, shown.text)

    return press


def rest(remote: Remote, request: str, verdict: str) -> Door:
    """`POST /api/v1/requests/ID/decision`."""

    def press() -> Pressed:
        reply = remote.send("POST", f"/requests/{request}/decision", {"verdict": verdict})
        return Pressed(reply.status == 200, json.dumps(reply.body))

    return press


def client(remote: Remote, request: str, verdict: str) -> Door:
    """The Python client."""

    def press() -> Pressed:
        with Desk(remote.server.address, remote.key) as desk:
            try:
                return Pressed(desk.decide(request, verdict).status != "pending", "")
            except Refused as refused:
                return Pressed(False, str(refused))

    return press


def command(remote: Remote, request: str, verdict: str) -> Door:
    """`pausepoint approve ID`, started before and waiting for its line."""
    settings = {
        "PAUSEPOINT_URL": remote.server.address,
        "PAUSEPOINT_KEY": remote.key,
        "PYTHONPATH": str(ROOT / "clients" / "python"),
    }
    pipe = subprocess.PIPE
    program = subprocess.Popen(
        [sys.executable, "-c", COMMAND, verdict, request],
        env=os.environ | settings, stdin=pipe, stdout=pipe, stderr=pipe, text=True,
    )  # fmt: skip

    def press() -> Pressed:
        out, errors = program.communicate("now\n", timeout=PATIENCE)
        return Pressed(program.returncode == 0, out + errors)

    return press


def ai_sdk(driver: Driver, server: Server, key: str, chat: Chat, verdict: str) -> Door:
    """The AI SDK's `addToolApprovalResponse`, in a page of its own."""
    opened = Chat(driver, server, key, chat_id=chat.id, messages=chat.stored())

    def press() -> Pressed:
        opened.rule(verdict == "approve")
        return Pressed(opened.shown["error"] is None, opened.shown["error"] or "")

    return press


def cedar(opened: Page, run: str, verdict: str) -> Door:
    """Cedar's resume callback; the last message tells the result."""
    opened.do("reload")

    def press() -> Pressed:
        messages = opened.do("resume", run=run, data={"approved": verdict == "approve"})
        refused = [message["text"] for message in messages if message.get("state") == "error"]
        return Pressed(not refused, " ".join(refused))

    return press


def _digest(text: str) -> str:
    _, _, rest = text.partition("sha256:")
    return f"sha256:{rest[:64]}"
