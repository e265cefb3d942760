"""The answers and logs of a server behind a proxy, without DEBUG, for requests refused before URL resolution."""

from __future__ import annotations

import socket
from contextlib import closing
from http.client import HTTPResponse

import pytest

from hitlsite.server.handler import MAX_BODY
from hitlsite.settings import DATA_UPLOAD_MAX_NUMBER_FIELDS
from tests.support.processes.server import PATIENCE, Server
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

#: After the settings are read, so that pages find their style sheets without `collectstatic`.
WITHOUT_DEBUG = """
from pathlib import Path
from django.conf import settings
settings.DEBUG, settings.STATIC_ROOT = False, Path({folder!r})
"""
PROXY = b"X-Forwarded-Proto: https\r\nX-Forwarded-For: 192.0.2.7\r\nAccept: text/html\r\n"
KNOWN, FORM = b"Host: 127.0.0.1\r\n", b"Content-Type: multipart/form-data; boundary=x\r\n"
OWN = b"Origin: https://127.0.0.1\r\nCookie: __Host-csrftoken=" + b"c" * 32 + b"\r\n"
MANY = b"&".join(b"f%d=" % number for number in range(DATA_UPLOAD_MAX_NUMBER_FIELDS + 1))

#: The request line and headers, the body, the status, and the loggers that write a line each.
REFUSALS = {
    "an unknown host": (b"GET / HTTP/1.1\r\nHost: evil.example\r\n", b"", 400, ["django.security.DisallowedHost"]),
    "an unknown host of the API": (
        b"GET /api/v1/requests HTTP/1.1\r\nHost: evil.example\r\n", b"", 400, ["django.security.DisallowedHost"]
    ),
    "no host": (b"GET / HTTP/1.0\r\n", b"", 302, []),
    "a long address": (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\n" + KNOWN, b"", 414, []),
    "long headers": (b"GET / HTTP/1.1\r\n" + KNOWN + b"X-Long: " + b"x" * 20_000 + b"\r\n", b"", 431, []),
    "a large body": (b"POST /login/ HTTP/1.1\r\n" + KNOWN + b"Content-Length: %d\r\n" % (MAX_BODY + 1), b"", 413, []),
    "a form without a token": (b"POST /login/ HTTP/1.1\r\n" + KNOWN, b"", 403, ["django.security.csrf"]),
    "a form that ends early": (b"POST /login/ HTTP/1.1\r\n" + KNOWN + OWN + FORM, b"--x\r\n", 403, ["django.security.csrf"]),
    "too many fields": (
        b"POST /login/ HTTP/1.1\r\n" + KNOWN + OWN + b"Content-Type: application/x-www-form-urlencoded\r\n",
        MANY, 400, ["django.security.TooManyFieldsSent"],
    ),
    "an odd address": (b"GET /%ff%00 HTTP/1.1\r\n" + KNOWN, b"", 302, []),
    "an unknown host of a WebSocket": (
        b"GET /ws/ HTTP/1.1\r\nHost: evil.example\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nOrigin: https://evil.example\r\n", b"", 403, [],
    ),
}  # fmt: skip
#: Bytes: a page of words in the frame of the site.
LARGEST = 5_000


def response_to(server: Server, head: bytes, body: bytes) -> tuple[int, int]:
    """The status, and the length of the body."""
    connection = b"Connection: Upgrade\r\n" if b"Upgrade:" in head else b"Connection: close\r\n"
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)) as line:
        line.sendall(head + PROXY + connection + length + b"\r\n" + body)
        response = HTTPResponse(line)
        response.begin()
        return response.status, len(response.read())


def test_every_refusal_before_a_page_is_small_and_a_line_of_log_at_most(tmp_path):
    settings = {"TRUST_FORWARDED_PROTO": "1", "TRUSTED_PROXIES": "1", "PUBLIC_URL": "https://127.0.0.1"}
    (tmp_path / "staticfiles.json").write_text("{}")
    wrong = {}
    with Server(tmp_path, prepare=WITHOUT_DEBUG.format(folder=str(tmp_path)), **settings) as server:
        for name, (head, body, status, loggers) in REFUSALS.items():
            written = len(server.log.read_bytes())
            answered, size = response_to(server, head, body)
            lines = server.log.read_bytes()[written:].decode().splitlines()
            named = [line.split()[3].rstrip(":") for line in lines]
            if (answered, named) != (status, loggers) or size > LARGEST:
                wrong[name] = (answered, size, lines[:3])
    assert not wrong, "\n".join(map(str, wrong.items()))
