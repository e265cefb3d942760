"""A server, and the clients of others that decide there: one process each."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.contract.ai_sdk.conftest import HERE as AI_SDK
from tests.contract.ai_sdk.conftest import Driver
from tests.contract.cedar.conftest import HERE as CEDAR
from tests.contract.cedar.conftest import Page
from tests.support.processes.server import Server
from tests.support.services import find_npm, install_packages, real_processes  # noqa: F401


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    find_npm()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, real_processes: None) -> Iterator[Server]:  # noqa: F811
    with Server(tmp_path_factory.mktemp("doors")) as running:
        yield running


@pytest.fixture(scope="package")
def owner_key(server: Server) -> str:
    """A key of the demo's approver, the owner of the chats of these tests."""
    return server.key("approver", name="front end")


@pytest.fixture(scope="package")
def driver(server: Server, owner_key: str) -> Iterator[Driver]:
    install_packages(AI_SDK)
    running = Driver("7", server.address, owner_key)
    yield running
    running.close()


@pytest.fixture(scope="package")
def cedar_page(server: Server, owner_key: str) -> Iterator[Page]:
    install_packages(CEDAR)
    opened = Page(server, owner_key, uuid4().hex, repaired=True)
    yield opened
    opened.close()
