"""Deliver decisions to webhooks and to an engine in turns, in one process, and count them by the second."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from approvals import actions
from approvals.actions import create_signing_secret
from approvals.actions.callbacks import deliveries
from approvals.administration.keys.actions import create_key
from approvals.asking.answers import Answer
from approvals.asking.asks import Ask
from approvals.models import EngineConnection
from approvals.outbound import outbox, webhooks
from approvals.outbound.delivery_lanes import DeliveryLanes
from approvals.states import Channel, Door, Kind, Verdict


@contextmanager
def receiver() -> Any:
    """An address that answers webhooks and Restate's handlers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def delivered(how_many: int, **fields: Any) -> float:
    """Decide requests with these fields, then deliver all decisions; return how many a second."""
    asker = User.objects.get(username="requester")
    approver = User.objects.get(username="approver")
    key, _text = create_key(asker, name="benchmark")
    create_signing_secret(key)
    for number in range(how_many):
        name = f"{key.pk}-{number}"
        scope = {"scope": f"key:{key.pk}", "key": name, "title": name, "source": "api"}
        workflow = actions.open_workflow(owner=asker, agent="", **scope)
        ask = Ask(kind=Kind.APPROVAL, title="May I?", input={"amount": 1}, **fields)
        request = actions.request_approval(workflow, ask, requested_by=asker)
        answer = Answer(Verdict.APPROVE)
        actions.decide(request.pk, answer, by=approver, via=Door.DASHBOARD)
    lanes = DeliveryLanes(webhooks.due_jobs, deliveries.due_jobs)
    channels = (Channel.WEBHOOK, Channel.ENGINE)
    began = time.monotonic()
    while outbox.undelivered_events(*channels).exists():
        lanes.deliver_due()
        lanes.idle(60)
    return how_many / (time.monotonic() - began)


def measure(rounds: int, how_many: int) -> dict[str, list[float]]:
    """Return the deliveries a second of each round, by kind."""
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    found: dict[str, list[float]] = {"callback_url": [], "engine": []}
    with receiver() as address:
        EngineConnection.objects.create(
            name="e", kind="restate", url=address, route="A/b", private=True
        )
        for _round in range(rounds):
            found["callback_url"].append(delivered(how_many, callback_url=address))
            callback = {"to": "e", "id": "run-7"}
            found["engine"].append(delivered(how_many, callback=callback))
    return found
