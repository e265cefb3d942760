"""`@pausepoint/client` while the server dies and comes back, and in a page of another origin, as it is built."""

from __future__ import annotations

import functools
import http.server
import importlib
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.javascript_client.conftest import HERE
from tests.support.machine import Remote
from tests.support.processes.server import Server, until
from tests.support.services import find_chromium

pytestmark = pytest.mark.server
SOON = 120
PAGE = """<!doctype html><script type="module">
import { Desk } from "./dist/index.js";
const [address, key] = decodeURIComponent(location.hash.slice(1)).split(" ");
try {
  const outcome = await new Desk(address, key, { patience: 0 }).awaitHuman("Pay?", { threadId: "page" });
  document.title = `${outcome.status} ${document.cookie}`;
} catch (error) {
  document.title = error.name;
}
</script>"""


def waiting(approver: Remote) -> dict[str, Any]:
    """The only request that waits, once it is there."""
    (found,) = until(
        lambda: approver.send("GET", "/requests?status=pending&thread=page").body["items"], "it waits", SOON
    )
    return found


@pytest.mark.shows("javascript-client", "crash")
def test_a_server_that_dies_and_comes_back_still_gives_the_answer_once(installed, tmp_path):
    shutil.copy(HERE / "driver.mjs", installed)
    with Server(tmp_path) as server:
        asker, approver = Remote(server, "requester", ("ask", "read")), Remote(server, "approver", ("decide", "read"))
        environment = os.environ | {"PAUSEPOINT_URL": server.address, "PAUSEPOINT_KEY": asker.key}
        pipe = subprocess.PIPE
        command = ["node", str(installed / "driver.mjs")]
        program = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
        assert program.stdin is not None
        program.stdin.write(json.dumps([["awaitHuman", "Pay?", {"threadId": "page"}]]))
        program.stdin.close()
        program.stdin = None
        request = waiting(approver)
        server.kill()
        server.start()
        assert approver.send("POST", f"/requests/{request['id']}/decision", {"verdict": "approve"}).status == 200
        (outcome,) = json.loads(program.communicate(timeout=SOON)[0])
        assert outcome["status"] == "approved"
        assert [each["id"] for each in asker.send("GET", "/requests?thread=page").body["items"]] == [request["id"]]


@pytest.fixture
def origin(installed: Path, tmp_path: Path) -> Iterator[str]:
    """Another origin, with a page and the client as it is in the package."""
    shutil.copytree(installed / "node_modules" / "@pausepoint" / "client" / "dist", tmp_path / "pages" / "dist")
    (tmp_path / "pages" / "index.html").write_text(PAGE)

    class Files(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nothing on stderr."""

    handler = functools.partial(Files, directory=str(tmp_path / "pages"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


def test_a_page_of_a_listed_origin_can_ask_and_wait_and_others_cannot(origin, tmp_path):
    chromium = find_chromium()
    with Server(tmp_path, CORS_ALLOWED_ORIGINS=origin) as server:
        asker, approver = Remote(server, "requester", ("ask", "read")), Remote(server, "approver", ("decide", "read"))
        with importlib.import_module("playwright.sync_api").sync_playwright() as play:
            page = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]).new_page()
            page.set_default_timeout(SOON * 1000)
            page.goto(f"{origin}/#{server.address} {asker.key}")
            request = waiting(approver)
            assert approver.send("POST", f"/requests/{request['id']}/decision", {"verdict": "reject"}).status == 200
            page.wait_for_function("() => document.title")
            assert page.title() == "rejected"
            page.goto(f"{origin.replace('127.0.0.1', 'localhost')}/#{server.address} {asker.key}")
            page.wait_for_function("() => document.title")
            assert page.title() == "Unreachable"
