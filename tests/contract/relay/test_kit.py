"""The test kit of relays: the shipped relay passes it, and it says in words what a wrong relay does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from pausepoint.relay_kit.checks import CHECKS, run_checks
from pausepoint.relay_kit.kit import SECRET, Kit, problem_of, serving, signature
from standardwebhooks import Webhook

from tests.contract.relay.mattermost import TOKEN, Mattermost
from tests.support.processes.server import free_port, until
from tests.support.root import ROOT

EXAMPLE = ROOT / "examples" / "relay-mattermost" / "relay.py"


def answers(url: str) -> bool:
    try:
        return httpx.post(url, content=b"{}").status_code == 401
    except httpx.HTTPError:
        return False


@contextmanager
def example(mattermost: Mattermost, desk: str, folder: Path, secret: str = SECRET) -> Iterator[str]:
    """Run the shipped relay, and yield its address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    mattermost.command_url = f"{url}/key/command"
    environment = os.environ | {
        "PAUSEPOINT_RELAY": desk,
        "PAUSEPOINT_RELAY_SECRET": secret,
        "MATTERMOST_URL": mattermost.url,
        "MATTERMOST_TOKEN": TOKEN,
        "RELAY_URL": url,
        "RELAY_KEY": "key",
        "RELAY_FILE": str(folder / "relay.sqlite3"),
        "PORT": str(port),
    }
    relay = subprocess.Popen([sys.executable, EXAMPLE], env=environment, stderr=subprocess.DEVNULL)
    try:
        until(lambda: answers(url), "the relay answers")
        yield f"{url}/"
    finally:
        relay.kill()
        relay.wait()


def test_the_relay_for_mattermost_passes_every_check_of_the_command(tmp_path):
    port = free_port()
    desk = f"http://127.0.0.1:{port}/api/v1/relays/kit"
    with Mattermost() as mattermost, example(mattermost, desk, tmp_path) as relay:
        press = f"{sys.executable} -m tests.contract.relay.mattermost {mattermost.url}"
        command = [sys.executable, "-m", "pausepoint.cli", "relay-kit", relay, "--port", str(port), "--press", press]
        environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'clients' / 'python'}"}
        ran = subprocess.run([*command, "--wait", "20"], capture_output=True, text=True, env=environment, cwd=ROOT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines()[-1] == f"{len(CHECKS)} of {len(CHECKS)} checks passed."
    texts = [post["message"] for post in mattermost.posts.values()]
    [refund] = [text for text in texts if "4711" in text]
    assert refund.startswith("```\n*Refund* [4711](https://example.org)?\n```\n")
    assert "```\nThis request was rejected a minute ago by ann.\n```" in mattermost.ephemeral
    assert not any(mattermost.buttons(post) for post in mattermost.posts.values())
    assert "[Link your account](https://desk.example.org/settings/relay-link/abc/)" in mattermost.ephemeral


class Careless:
    """A relay in this process that keeps the contract, but for the ways of a test."""

    def __init__(self, *ways: str) -> None:
        self.ways = ways
        self.desk = ""
        self.shown: dict[str, dict[str, Any]] = {}

    def take(self, headers: dict[str, str], body: bytes) -> int:
        if "trusts" not in self.ways and problem_of(SECRET, headers, body):
            return 401
        event = json.loads(body)
        data = event["data"]
        match event["type"]:
            case "request.show":
                known = self.shown.get(data["message"], {"revision": 0})
                if data["revision"] > known["revision"] or "goes back" in self.ways:
                    self.shown[data["message"]] = data
            case "request.end" if "keeps buttons" not in self.ways:
                self.shown.pop(data["message"], None)
            case "notice" | "request.end":
                pass
            case _ if "refuses new types" in self.ways:
                return 400
        return 200

    def post(self, what: str, body: Any) -> None:
        text = json.dumps(body).encode()
        secret = "whsec_" + "A" * 44 if "signs wrongly" in self.ways else SECRET
        stamp = str(int(time.time()))
        headers = {"webhook-id": "msg", "webhook-timestamp": stamp}
        headers["webhook-signature"] = signature(secret, "msg", stamp, text)
        for _ in range(2 if "posts twice" in self.ways else 1):
            httpx.post(f"{self.desk}/{what}", content=text, headers=headers)

    def press(self, account: str, label: str, text: str) -> None:
        if "is silent" in self.ways:
            return
        if label == "link":
            self.post("links", {"account": account})
            return
        for data in [*self.shown.values()][-1:]:
            [offered] = [each for each in data["answers"] if each["label"] == label] or [None]
            if offered is None:
                continue
            body = {"token": data["token"], "account": account, "verdict": offered["verdict"]}
            body |= {"option": offered["option"]} if "option" in offered else {}
            body |= {"message": text} if text and "drops messages" not in self.ways else {}
            body |= {"user": "root"} if "adds members" in self.ways else {}
            body |= {"account": "somebody"} if "mixes people up" in self.ways else {}
            self.post("answers", body)


@contextmanager
def running(relay: Careless) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.send_response(relay.take(headers, body))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def lines_of(relay: Careless) -> list[str]:
    lines: list[str] = []
    with running(relay) as address:
        kit = Kit(address, relay.press, say=lines.append, patience=0.5, quiet=0.2)
        with serving(kit, 0) as desk:
            relay.desk = desk
            run_checks(kit)
    return lines


def test_a_relay_that_keeps_the_contract_passes():
    assert lines_of(Careless())[-1] == f"{len(CHECKS)} of {len(CHECKS)} checks passed."


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("trusts", "Check the signature first, and answer 401."),
        ("goes back", "The answer has token"),
        ("keeps buttons", "The relay posted an answer after request.end. Remove the buttons of the message."),
        ("refuses new types", "The relay answered 400 to something.new."),
        ("signs wrongly", "its signature is wrong: sign webhook-id.webhook-timestamp.body with the secret"),
        ("posts twice", "The answer came twice. Post it once."),
        ("drops messages", "The answer has message None, where 'Too much.' was expected."),
        ("adds members", "The answer has members that are not in the contract: user."),
        ("mixes people up", "The answer has account 'somebody', where 'kit-person' was expected."),
        ("is silent", "No answer came after 'Approve' was pressed."),
    ],
)
def test_what_a_relay_does_wrong_is_said_in_words(way, words):
    lines = lines_of(Careless(way))
    failures = [line for line in lines if line.startswith("FAILED")]
    assert [line for line in failures if words in line] != [], lines


def test_a_relay_that_does_not_run_is_said_in_words():
    kit = Kit(f"http://127.0.0.1:{free_port()}/", lambda *_: None, say=(lines := []).append, patience=0.1)
    assert run_checks(kit) == len(CHECKS)
    assert "Is it running?" in lines[0]


def test_signatures_are_those_of_standard_webhooks():
    body = b'{"a": 1}'
    stamp = str(int(time.time()))
    headers = {"webhook-id": "msg_1", "webhook-timestamp": stamp}
    headers["webhook-signature"] = signature(SECRET, "msg_1", stamp, body)
    assert Webhook(SECRET).verify(body, headers) == {"a": 1}
    assert problem_of(SECRET, headers, body) == ""
