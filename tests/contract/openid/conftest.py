"""The published oidc-provider in a node process, and what it sends to Pausepoint by itself."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.support.services import find_npm, install_packages

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    find_npm()


class Provider:
    """The node process. `site` is where it finds Pausepoint; `sent` are the log-out tokens that came there."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        handler = type("BoundHandler", (_Site,), {"sent": self.sent})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.site = f"http://127.0.0.1:{self.server.server_address[1]}"
        command = ["node", "driver.mjs", self.site]
        self.process = subprocess.Popen(
            command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.issuer: str = self._read()["issuer"]

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the provider's process has ended"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def do(self, act: str, **given: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"act": act, **given}) + "\n")
        self.process.stdin.flush()
        self._read()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.server.shutdown()
        self.server.server_close()


class _Site(BaseHTTPRequestHandler):
    sent: list[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.sent.extend(parse_qs(body).get("logout_token", []))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def node() -> Iterator[Provider]:
    install_packages(HERE)
    provider = Provider()
    yield provider
    provider.close()
