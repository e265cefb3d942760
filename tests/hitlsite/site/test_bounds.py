"""A body beyond the bound is refused before it is kept, whoever sends it and however."""

from __future__ import annotations

import json
import socket
from contextlib import closing

import pytest

from hitlsite.bounds import MAX_BODY, BodyBound, declared
from tests.proofs.server.test_backpressure import memory
from tests.support.processes.server import PATIENCE, Server
from tests.support.services import real_processes  # noqa: F401 - a fixture

MIB = b"x" * (1 << 20)


@pytest.mark.parametrize(
    ("sent", "length"),
    [
        ([], 0),
        ([(b"content-length", b"12")], 12),
        ([(b"Content-Length", b"8000001")], 8_000_001),
        ([(b"content-length", b"9" * 5000)], 10**18 - 1),
        ([(b"content-length", b"-1")], 0),
        ([(b"content-length", b"1e9")], 0),
        ([(b"content-length", b"")], 0),
    ],
)
def test_what_a_request_says_of_its_length(sent, length):
    assert declared(sent) == length


async def through(pieces, headers=(), app=None):
    """What the application was given, and what the client was answered."""
    left, given, sent = list(pieces), [], []

    async def receive():
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message):
        sent.append(message)

    async def reads_all(scope, receive, send):
        while True:
            message = await receive()
            given.append(message["type"])
            if message["type"] == "http.disconnect":
                return
            if not message["more_body"]:
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": b"taken"})
                return

    await BodyBound(app or reads_all)({"type": "http", "headers": list(headers)}, receive, send)
    return given, sent


@pytest.mark.asyncio
async def test_a_body_of_exactly_the_bound_is_taken():
    given, sent = await through([b"x" * (MAX_BODY - 1), b"x"], [(b"content-length", str(MAX_BODY).encode())])
    assert (given, sent[0]["status"]) == (["http.request"] * 2, 200)


@pytest.mark.asyncio
async def test_one_that_says_that_it_is_larger_is_not_read_at_all():
    given, sent = await through([], [(b"content-length", str(MAX_BODY + 1).encode())])
    assert (given, sent[0]["status"]) == ([], 413)
    assert json.loads(sent[1]["body"])["code"] == "too_large"


@pytest.mark.asyncio
async def test_one_that_says_nothing_is_counted_and_cut_off():
    given, sent = await through([MIB] * 9)
    assert given == ["http.request"] * 7 + ["http.disconnect"]
    assert [message.get("status") for message in sent] == [413, None]


@pytest.mark.asyncio
async def test_people_are_told_in_words():
    headers = [(b"content-length", b"9999999"), (b"accept", b"text/html,*/*")]
    _, (start, body) = await through([], headers)
    assert dict(start["headers"])[b"content-type"] == b"text/plain; charset=utf-8"
    assert body["body"].decode() == "The body is larger than 8,000,000 bytes, and was not read. Send less at a time.\n"


@pytest.mark.asyncio
async def test_an_answer_that_has_begun_is_ended_by_the_application():
    async def answers_first(scope, receive, send):
        await send({"type": "http.response.start", "status": 202, "headers": []})
        while (await receive())["type"] != "http.disconnect":
            continue
        await send({"type": "http.response.body", "body": b"enough"})

    _, sent = await through([MIB] * 9, app=answers_first)
    assert [message.get("status", message.get("body")) for message in sent] == [202, b"enough"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("bounds")) as running:
        yield running


def head(path: str, *lines: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *lines, "", ""]).encode()


def answer(line: socket.socket) -> bytes:
    found = b""
    while piece := line.recv(1 << 16):
        found += piece
    return found


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
@pytest.mark.parametrize("path", ["/login/", "/api/v1/requests", "/api/chat", "/nowhere"])
def test_a_server_refuses_by_the_length_before_anything_came(server, path):
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)) as line:
        line.sendall(head(path, "Content-Type: application/json", "Content-Length: 80000000000"))
        # Not one byte of the body was sent.
        status, _, rest = line.recv(1 << 16).partition(b"\r\n")
    assert status == b"HTTP/1.1 413 Content Too Large"
    assert b"too_large" in rest


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_a_sender_who_sends_it_all_the_same_gets_to_read_why(server):
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)) as line:
        line.sendall(head("/api/chat", f"Content-Length: {20 * len(MIB)}", "Accept: text/html"))
        for _ in range(20):
            line.sendall(MIB)
        found = answer(line)
    assert found.startswith(b"HTTP/1.1 413 ")
    assert found.endswith(b"Send less at a time.\n")
    assert found.count(b"HTTP/1.1") == 1


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_one_in_chunks_without_end_is_cut_off_and_costs_no_memory(server):
    before = memory(server)
    chunk = b"%x\r\n%s\r\n" % (len(MIB), MIB)
    sent = 0
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)) as line:
        line.sendall(head("/api/chat", "Transfer-Encoding: chunked"))
        with pytest.raises(OSError):
            while sent < 500:
                line.sendall(chunk)
                sent += 1
    assert sent < 500
    assert memory(server) - before < 30
    # And everybody else is served.
    assert server.person("requester").get("/").status == 200


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_after_a_body_within_the_bound_a_connection_goes_on(server):
    body = b'{"filler": "' + b"x" * 7_999_000 + b'"}'
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)) as line:
        for last in (False, True):
            lines = [f"Content-Length: {len(body)}", "Content-Type: application/json", *["Connection: close"] * last]
            line.sendall(head("/api/chat", *lines) + body)
        found = answer(line)
    assert found.count(b"HTTP/1.1 401 ") == 2
