"""Two independent checkers of SCIM 2.0 against a real server: what they find is in a table of docs/reference/scim.md."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server

from tests.support.processes.ports import free_port
from tests.support.processes.server import Server
from tests.support.root import ROOT

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    served = Server(tmp_path_factory.mktemp("scim"))
    served.port = free_port()
    served.settings["PUBLIC_URL"] = served.address
    with served:
        yield served


def explained(checker: str) -> set[str]:
    """What the page says that a checker finds."""
    page = (ROOT / "docs" / "reference" / "scim.md").read_text()
    return set(re.findall(rf"^\| {checker} \| `(.+?)` \|", page, re.MULTILINE))


def test_scim2_tester_finds_what_the_page_explains(server):
    headers = {"Authorization": f"Bearer {server.key('admin', 'scim')}"}
    with httpx2.Client(base_url=f"{server.address}/scim/v2", headers=headers, timeout=90) as http:
        results = check_server(SyncSCIMClient(http))
    assert sum(each.status == Status.SUCCESS for each in results) > 40
    others = (Status.SUCCESS, Status.SKIPPED)
    assert {each.reason for each in results if each.status not in others} == explained("scim2-tester")


def test_scim_sanity_finds_what_the_page_explains(server):
    command = [str(Path(sys.executable).parent / "scim-sanity"), "probe", f"{server.address}/scim/v2"]
    command += ["--token", server.key("admin", "scim"), "--i-accept-side-effects", "--json-output"]
    done = subprocess.run(command, capture_output=True, text=True)
    results = json.loads(done.stdout)["results"]
    assert sum(each["status"] == "pass" for each in results) > 20
    failed = {each["name"] for each in results if each["status"] not in {"pass", "skip"}}
    assert failed == explained("scim-sanity")
