"""Measure the time from a decision until the agent continues: with a long poll, a webhook, and inside Pausepoint.

    .venv/bin/python -m benchmarks.decision_to_agent [--decisions 20]

Measured from before the decision is sent until the agent has it: the long poll's whole answer, the webhook's call, the
first line of the approved tool. One clock. PostgreSQL, Redis, one web process, one worker.
"""

from __future__ import annotations

import argparse
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

from benchmarks.figures import Table
from benchmarks.stage import Stage, stage
from tests.support.processes.server import until


@contextmanager
def receiver() -> Any:
    """An address that receives webhooks, and a queue of their arrival times."""
    came: queue.Queue[float] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            came.put(time.monotonic())
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", came
    server.shutdown()


def by_long_poll(found: Stage) -> float:
    deciding, waiting = found.program(), found.program()
    asked = deciding.ask()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lambda: (waiting.wait(asked["id"]), time.monotonic()))
        # The next response of the same process comes after the long poll has arrived.
        deciding.send("GET", "/api/v1/requests?limit=1")
        began = time.monotonic()
        deciding.approve(asked["id"])
        document, ended = answer.result()
    assert document["status"] == "approved"
    return (ended - began) * 1000


def by_webhook(found: Stage, address: str, came: queue.Queue[float]) -> float:
    program = found.program()
    asked = program.ask(callback_url=address)
    began = time.monotonic()
    program.approve(asked["id"])
    return (came.get(timeout=60) - began) * 1000


def inside(found: Stage) -> float:
    program, chat = found.program(), uuid4().hex
    request = program.pause(chat, "stamp it")
    began = time.monotonic()
    program.approve(request)
    until(lambda: program.status(chat) == "idle", "the turn has ended")
    parts = program.send("GET", f"/api/chat/{chat}")["messages"][-1]["parts"]
    (output,) = [part["output"] for part in parts if part["type"] == "tool-stamp"]
    return (output - began) * 1000


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--decisions", type=int, default=20)
    number = options.parse_args().decisions
    table = Table("from the decision to the agent")
    with stage(HITL_WEBHOOK_ALLOW_PRIVATE="1") as found, receiver() as (address, came):
        found.site.manage("webhooksecret", "--key", found.key.split("_")[1])
        table.row("long poll", [by_long_poll(found) for _ in range(number)])
        table.row(
            "webhook (looked for every second)",
            [by_webhook(found, address, came) for _ in range(number)],
        )
        table.row(
            "inside: the approved tool runs", [inside(found) for _ in range(number)]
        )


if __name__ == "__main__":
    main()
