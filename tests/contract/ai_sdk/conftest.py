"""The AI SDK's own client from npm, in both versions, against a real server; one node process for each."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.proofs.crash.agents import RELEASE
from tests.support.processes.server import Server
from tests.support.services import find_npm, install_packages, real_processes  # noqa: F401

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    find_npm()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, real_processes: None) -> Iterator[Server]:  # noqa: F811
    folder = tmp_path_factory.mktemp("npm")
    settings = {
        "HITL_AGENTS": "chats.agent.demo.support,tests.proofs.team.reciter.reciter",
        "prepare": "from tests.proofs.team.reciter import hold_where_told; hold_where_told()",
        RELEASE: str(folder / "release"),
    }
    with Server(folder, **settings) as running:
        yield running


@pytest.fixture
def release(server: Server) -> Iterator[Callable[[], object]]:
    """Return a function that lets the reciter finish the sentence in which it stopped."""
    file = Path(server.settings[RELEASE])
    file.unlink(missing_ok=True)
    yield file.touch
    file.touch()


@pytest.fixture(scope="package")
def key(server: Server) -> str:
    """A key of the demo's approver."""
    return server.key("approver")


class Driver:
    """A node process full of chat clients."""

    def __init__(self, sdk: str, address: str, key: str) -> None:
        self.sdk = sdk
        command = ["node", "driver.mjs", sdk, address, key]
        self.process = subprocess.Popen(
            command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def do(self, act: str, name: str, **given: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"act": act, "name": name, **given}) + "\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert "failed" not in found, found["failed"]
        return found

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="package", params=["6", "7"])
def driver(request: pytest.FixtureRequest, server: Server, key: str) -> Iterator[Driver]:
    install_packages(HERE)
    running = Driver(request.param, server.address, key)
    yield running
    running.close()
