"""Messages that a WebSocket does not read are bounded in the server's memory."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.support.root import ROOT
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

MESSAGES, SIZE = 600, 100_000
#: A server whose application pushes 60 MB to each page at once, and tells how that ended.
PROGRAM = f"""
import asyncio, json, resource

import django

django.setup()
from hitlsite.server.daphne import DeskServer

async def application(scope, receive, send):
    await receive()
    await send({{"type": "websocket.accept"}})
    ended = asyncio.ensure_future(receive())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sent = 0
    while not ended.done() and sent < {MESSAGES}:
        await send({{"type": "websocket.send", "text": "x" * {SIZE}}})
        sent += 1
        await asyncio.sleep(0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps([sent, grown]), flush=True)
    await ended

DeskServer(application, endpoints=["tcp:0:interface=127.0.0.1"]).run()
"""
HELLO = [
    "GET /ws/ HTTP/1.1",
    "Host: 127.0.0.1",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}",
]


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"DEBUG": "1", "DJANGO_SETTINGS_MODULE": "hitlsite.settings", "LANGUAGE_CODE": "en"}
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as program:
        yield program
        program.kill()


def dial(server: subprocess.Popen[str]) -> socket.socket:
    assert server.stdout is not None
    address = server.stdout.readline().split("http://")[1].split("/")[0]
    host, port = address.split(":")
    line = socket.socket()
    # So that little of it is kept outside of the server.
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.settimeout(60)
    line.connect((host, int(port)))
    line.sendall("\r\n".join([*HELLO, "", ""]).encode())
    return line


def test_a_page_that_reads_nothing_is_closed_and_costs_little_memory(server):
    with dial(server):
        sent, kilobytes = json.loads(server.stdout.readline())
    print(f"closed after {sent} messages; the server grew by {kilobytes} KB")
    assert sent < MESSAGES
    assert kilobytes < 30_000


def test_a_page_that_reads_gets_everything_however_much_is_pushed_at_once(server):
    with dial(server) as line:
        received = 0
        while received < MESSAGES * SIZE:
            piece = line.recv(1 << 20)
            assert piece
            received += len(piece)
        assert json.loads(server.stdout.readline())[0] == MESSAGES
