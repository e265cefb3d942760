"""A server that is told to end while messages are due does not log those that it leaves to the next one."""

from __future__ import annotations

import signal
import socket
import threading

import pytest

from tests.support.processes.server import PATIENCE, Server, until
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

DUE = """
from uuid import uuid4
from approvals.actions import create_signing_secret
from approvals.models import OutboxEvent
from approvals.models.subscriptions import WebhookEndpoint
from approvals.outbound import outbox
for place in range(2, 62):
    url = f"http://127.0.0.{place}:PORT/hook"
    endpoint = WebhookEndpoint.objects.create(url=url, events=["request.created"])
    create_signing_secret(endpoint)
    for number in range(20):
        OutboxEvent.objects.create(event_id=uuid4(), name="request.created", channel="webhook", sequence=number + 1,
            stream=f"{place}-{number}", target=f"endpoint:{endpoint.pk}", lane=outbox.lane_of(url), payload={})
"""


def test_stopping_with_due_messages_logs_no_traceback(tmp_path):
    met = threading.Event()
    with socket.create_server(("0.0.0.0", 0), backlog=500) as receiver:  # noqa: S104 - for 127.0.0.*

        def answer() -> None:
            while True:
                try:
                    call, _ = receiver.accept()
                except OSError:
                    return
                with call:
                    call.recv(65536)
                    call.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                met.set()

        threading.Thread(target=answer, daemon=True).start()
        with Server(tmp_path, HITL_WEBHOOK_ALLOW_PRIVATE="1") as server:
            server.run(DUE.replace("PORT", str(receiver.getsockname()[1])))
            until(met.is_set, "a message is on its way")
            assert server.process is not None
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(PATIENCE) == 0
            assert "Traceback" not in server.log.read_text()
        receiver.shutdown(socket.SHUT_RDWR)
