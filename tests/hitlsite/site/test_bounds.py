"""A body beyond the bound is refused before it is stored."""

from __future__ import annotations

import json

import pytest

from hitlsite.server.handler import MAX_BODY, BodyBound, declared_length
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
def test_the_declared_length_is_parsed(sent, length):
    assert declared_length(sent) == length


async def through(pieces, headers=(), app=None):
    """The application's input, and the client's answer."""
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
async def test_a_body_of_exactly_the_bound_is_accepted():
    given, sent = await through([b"x" * (MAX_BODY - 1), b"x"], [(b"content-length", str(MAX_BODY).encode())])
    assert (given, sent[0]["status"]) == (["http.request"] * 2, 200)


@pytest.mark.asyncio
async def test_a_body_with_a_larger_declared_length_is_not_read():
    given, sent = await through([], [(b"content-length", str(MAX_BODY + 1).encode())])
    assert (given, sent[0]["status"]) == ([], 413)
    assert json.loads(sent[1]["body"])["code"] == "too_large"


@pytest.mark.asyncio
async def test_a_body_without_a_declared_length_is_counted_and_refused():
    given, sent = await through([MIB] * 9)
    assert given == ["http.request"] * 7 + ["http.disconnect"]
    assert [message.get("status") for message in sent] == [413, None]


@pytest.mark.asyncio
async def test_browsers_get_plain_text():
    headers = [(b"content-length", b"9999999"), (b"accept", b"text/html,*/*")]
    _, (start, body) = await through([], headers)
    assert dict(start["headers"])[b"content-type"] == b"text/plain; charset=utf-8"
    assert body["body"].decode() == "The body is larger than 8,000,000 bytes and was not read. Send less at a time.\n"


@pytest.mark.asyncio
async def test_a_started_response_is_ended_by_the_application():
    async def answers_first(scope, receive, send):
        await send({"type": "http.response.start", "status": 202, "headers": []})
        while (await receive())["type"] != "http.disconnect":
            continue
        await send({"type": "http.response.body", "body": b"enough"})

    _, sent = await through([MIB] * 9, app=answers_first)
    assert [message.get("status", message.get("body")) for message in sent] == [202, b"enough"]
