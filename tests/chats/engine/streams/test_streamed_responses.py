"""Streamed responses hold no thread or database connection, and end when the client disconnects."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.testing import ApplicationCommunicator

from approvals.live.sse import KEEP_ALIVE, frame, with_keep_alive
from approvals.live.streaming import KEY, DetachedBodies

START = {"type": "http.response.start", "status": 200, "headers": [(b"Content-Length", b"0"), (b"X-A", b"b")]}


def handing_over(pieces, *, fails: bool = False):
    async def app(scope, receive, send):
        scope[KEY] = pieces()
        await send(START)
        await send({"type": "http.response.body", "body": b""})
        if fails:
            raise RuntimeError("after the response")

    return ApplicationCommunicator(DetachedBodies(app), {"type": "http"})


async def body_of(line: ApplicationCommunicator) -> list[bytes]:
    found, more = [], True
    while more:
        message = await line.receive_output(30)
        found.append(message["body"])
        more = message.get("more_body", False)
    return found


@pytest.mark.asyncio
async def test_the_body_follows_the_headers_without_a_content_length():
    async def pieces():
        yield b"a"
        yield b"b"

    line = handing_over(pieces)
    assert (await line.receive_output(30))["headers"] == [(b"X-A", b"b")]
    assert await body_of(line) == [b"a", b"b", b""]
    await line.wait(30)


@pytest.mark.asyncio
async def test_a_client_that_disconnects_ends_the_generator():
    left = asyncio.Event()

    async def pieces():
        try:
            yield b"a"
            await asyncio.Event().wait()
        finally:
            left.set()

    line = handing_over(pieces)
    await line.receive_output(30)
    assert (await line.receive_output(30))["body"] == b"a"
    await line.send_input({"type": "http.disconnect"})
    await line.wait(30)
    assert left.is_set()


@pytest.mark.asyncio
async def test_an_exception_in_the_generator_breaks_the_response_off():
    async def pieces():
        yield b"a"
        raise RuntimeError("in the middle")

    line = handing_over(pieces)
    await line.receive_output(30)
    await line.receive_output(30)
    with pytest.raises(RuntimeError, match="in the middle"):
        await line.wait(30)


@pytest.mark.asyncio
async def test_an_ordinary_response_is_passed_on_unchanged():
    async def app(scope, receive, send):
        await send(START)
        await send({"type": "http.response.body", "body": b"all"})

    line = ApplicationCommunicator(DetachedBodies(app), {"type": "http"})
    assert await line.receive_output(30) == START
    assert await body_of(line) == [b"all"]


@pytest.mark.asyncio
async def test_comments_keep_a_silent_stream_alive():
    go_on = asyncio.Event()

    async def source():
        yield b"one"
        await go_on.wait()
        yield b"two"

    found = []
    async for piece in with_keep_alive(source(), every=0.01):
        found.append(piece)
        if found.count(KEEP_ALIVE) == 3:
            go_on.set()
    assert found == [b"one", *[KEEP_ALIVE] * found.count(KEEP_ALIVE), b"two"]


def test_an_event_is_framed_with_its_fields():
    assert frame("{}", event="human_request", event_id="7") == b"id: 7\nevent: human_request\ndata: {}\n\n"
    assert frame("{}") == b"data: {}\n\n"
