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

import httpx
import pytest

from tests.support.services import find_npm, install_packages

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    find_npm()


class Site:
    """Where providers find Pausepoint; `sent` are the log-out tokens that came there."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        handler = type("BoundHandler", (_Handler,), {"sent": self.sent})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Provider:
    """A node process, whose people log in `at` this address of the site."""

    def __init__(self, site: Site, at: str) -> None:
        self.at = at
        self.site = site.address
        self.sent = site.sent
        command = ["node", "driver.mjs", self.site, at]
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

    def lead_back(self, there: httpx.Client, to: str) -> str:
        """Follow the provider's pages, which ask for nothing, and return where the last one leads in Pausepoint."""
        while not to.startswith(self.site):
            to = str(httpx.URL(self.issuer).join(there.get(to).headers["Location"]))
        return to

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


class _Handler(BaseHTTPRequestHandler):
    sent: list[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.sent.extend(parse_qs(body).get("logout_token", []))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="package")
def site() -> Iterator[Site]:
    install_packages(HERE)
    site = Site()
    yield site
    site.close()


@pytest.fixture(scope="package")
def node(site: Site) -> Iterator[Provider]:
    """The provider of the environment."""
    provider = Provider(site, "/login/sso/")
    yield provider
    provider.close()


@pytest.fixture(scope="package")
def other_node(site: Site) -> Iterator[Provider]:
    """A provider that an administrator added."""
    provider = Provider(site, "/login/with/partner/")
    yield provider
    provider.close()
