"""A connection that breaks while PostgreSQL commits: whether it did is unknown, so nothing may be undone."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from django.db import connection

from approvals import actions
from approvals.actions import attachments
from approvals.api.requests import NewRequest, ask_from
from approvals.asking.origins import Origin
from approvals.db import pool
from approvals.models import ApprovalRequest, RequestAttachment
from tests.proofs.postgresql.racing import PATIENCE, Act, until
from tests.support.desk.files import attachment, folder, stored_names
from tests.support.machine import APPROVAL, Machine
from tests.support.people import alice

__all__ = ["folder"]
pytestmark = pytest.mark.django_db(transaction=True)

#: The statement that psycopg sends for `connection.commit()`.
COMMIT = b"COMMIT\x00"


class Wire:
    """A proxy to PostgreSQL that can cut the client off and hold back its COMMIT, as a broken network may."""

    def __init__(self, host: str, port: int) -> None:
        self.upstream = (host, port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.cuts, self.cut, self.released = False, threading.Event(), threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _address = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.upstream)
            threading.Thread(target=self._to_server, args=(client, server), daemon=True).start()
            threading.Thread(target=self._to_client, args=(server, client), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        while piece := _received(client):
            if self.cuts and COMMIT in piece:
                self.cuts = False
                client.shutdown(socket.SHUT_RDWR)
                self.cut.set()
                self.released.wait(PATIENCE)
            server.sendall(piece)
        server.shutdown(socket.SHUT_WR)

    def _to_client(self, server: socket.socket, client: socket.socket) -> None:
        while piece := _received(server):
            try:
                client.sendall(piece)
            except OSError:
                # It is cut off.
                continue


def _received(end: socket.socket) -> bytes:
    try:
        return end.recv(65_536)
    except OSError:
        return b""


@pytest.fixture
def wire(monkeypatch) -> Iterator[Wire]:
    """A proxy through which all connections of this process go that are opened from now on."""
    parameters = connection.get_connection_params()
    opened = Wire(str(parameters["host"]), int(parameters["port"]))
    connection.close()
    connection.close_pool()
    with monkeypatch.context() as patched:
        patched.setitem(connection.settings_dict, "HOST", "127.0.0.1")
        patched.setitem(connection.settings_dict, "PORT", str(opened.port))
        yield opened
    opened.released.set()
    opened.listener.close()
    connection.close()
    connection.close_pool()


def test_the_files_of_a_request_stay_when_its_commit_arrives_after_the_connection_broke(wire, folder):
    machine = Machine(alice())
    sent = NewRequest.model_validate(APPROVAL | {"attachments": [attachment()]})
    origin = Origin(scope=machine.scope, digest=sent.digest(), idempotency_key="refund-1")
    ask = ask_from(sent)

    def store_and_ask() -> None:
        with attachments.stored(ask.attachments):
            wire.cuts = True
            actions.asking._ask_until_alone(ask, origin, by=machine.key.user)

    asking = Act(store_and_ask).begun()
    assert wire.cut.wait(PATIENCE)
    assert isinstance(asking.ended(), pool.AWAY)
    assert ApprovalRequest.objects.count() == 0
    wire.released.set()
    until(ApprovalRequest.objects.exists, "the commit arrives")

    row = RequestAttachment.objects.get()
    assert (row.request, row.erase_at, len(stored_names(folder))) == (ApprovalRequest.objects.get(), None, 1)
    attachments.erase_attachments(attachments.due_attachments(row.request.created_at + attachments.UNCLAIMED * 2))
    assert len(stored_names(folder)) == 1
