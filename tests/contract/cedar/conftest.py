"""The published cedar-os in jsdom, against a real server; a node process for each page."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.support.processes.server import Server
from tests.support.services import find_npm, install_packages, real_processes  # noqa: F401

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    find_npm()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, real_processes: None) -> Iterator[Server]:  # noqa: F811
    with Server(tmp_path_factory.mktemp("cedar")) as running:
        yield running


@pytest.fixture(scope="package")
def key(server: Server) -> str:
    """A key of the demo's approver."""
    return server.key("approver")


class Page:
    """A node process with one page, whose display is read after each act."""

    def __init__(self, server: Server, key: str, thread: str, repaired: bool) -> None:
        command = ["node", "driver.mjs", server.address, key, "repaired" if repaired else "published"]
        self.process = subprocess.Popen(
            command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.thread, self.seen = thread, {"messages": []}
        self.do("open", thread=thread)

    def do(self, act: str, **given: Any) -> list[dict[str, Any]]:
        """The messages that came of it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        known = len(self.seen["messages"])
        self.process.stdin.write(json.dumps({"act": act, **given}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the page's process has ended"
        self.seen: dict[str, Any] = json.loads(line)
        assert "failed" not in self.seen, self.seen["failed"]
        return list(self.seen["messages"][known:])

    def say(self, text: str, **given: Any) -> list[dict[str, Any]]:
        """Return the assistant's answers."""
        own, *answers = self.do("say", text=text, **given)
        assert (own["role"], own["content"]) == ("user", text)
        return answers

    def suspended(self, text: str) -> str:
        """The run that waits after this was said."""
        return str(self.say(text)[-1]["runId"])

    @property
    def waiting(self) -> dict[str, str]:
        """The state of every run that Cedar knows."""
        return {run: entry["state"] for run, entry in self.seen["waiting"].items()}

    @property
    def posts(self) -> list[dict[str, Any]]:
        return list(self.seen["posts"])

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def page(server: Server, key: str) -> Iterator[Callable[..., Page]]:
    install_packages(HERE)
    pages: list[Page] = []

    def opened(*, thread: str | None = None, repaired: bool = True, with_key: str = "") -> Page:
        pages.append(Page(server, with_key or key, uuid4().hex if thread is None else thread, repaired))
        return pages[-1]

    yield opened
    for found in pages:
        found.close()
