"""Measure how long a model's words take to reach a chat client: directly from the provider, and through Pausepoint.

    .venv/bin/python -m benchmarks.streams

A local server speaks Anthropic's streaming API and writes the time into every delta, so whoever reads one knows how old it
is. Times are in milliseconds, on one machine and one clock; "first" is the first delta, "all" are all of them.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from chats.agent.demo import support
from chats.agent.events import TextDelta
from chats.agent.provider import ModelMessage, ModelRequest
from chats.providers.anthropic import AnthropicProvider
from tests.support.anthropic_server import KEY, START, AnthropicServer, Reply, end
from tests.support.processes.server import Server

DELTAS, EVERY = 40, 0.05
Ages = list[float]


def stamped() -> Iterator[dict[str, Any]]:
    """A response of DELTAS deltas, EVERY seconds apart, each with the time when it was sent."""
    yield START | {
        "message": START["message"]
        | {"content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}
    }
    yield {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    }
    for _ in range(DELTAS):
        text = f"{time.monotonic():.6f} "
        yield {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": text},
        }
        time.sleep(EVERY)
    yield {"type": "content_block_stop", "index": 0}
    yield from end(output_tokens=1)


def age(text: str) -> float:
    """Return the age of a delta in ms."""
    return (time.monotonic() - float(text)) * 1000


async def directly(claude: AnthropicServer) -> Ages:
    """Yield the events of the provider, as the runner gets them."""
    said = [ModelMessage("user", [{"type": "text", "text": "go"}])]
    provider = AnthropicProvider(
        api_key=KEY, model="claude-sonnet-5-5", base_url=claude.url
    )
    return [
        age(event.text)
        async for event in provider.stream(ModelRequest(support, said))
        if isinstance(event, TextDelta)
    ]


async def through_pausepoint(server: Server, key: str) -> Ages:
    """Yield chunks as an AI SDK client gets them over HTTP."""
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "go"}]}
    body = json.dumps({"id": uuid4().hex, "message": message}).encode()
    head = (
        f"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(head.encode() + body)
    found: Ages = []
    async for line in reader:
        if line.startswith(b'data: {"type":"text-delta"'):
            found.append(age(json.loads(line.removeprefix(b"data: "))["delta"]))
    writer.close()
    return found


def measured(
    claude: AnthropicServer,
    way: Callable[[], Awaitable[Ages]],
    streams: int,
    rounds: int,
) -> list[Ages]:
    async def at_once() -> list[Ages]:
        return list(await asyncio.gather(*(way() for _ in range(streams))))

    found: list[Ages] = []
    for _ in range(rounds):
        claude.will(*(Reply(items=stamped()) for _ in range(streams)))
        found += asyncio.run(at_once())
    assert {len(ages) for ages in found} == {DELTAS}, "a stream lost deltas"
    return found


def row(name: str, found: list[Ages], base: list[Ages] | None = None) -> str:
    first, every = (
        sorted(ages[0] for ages in found),
        sorted(age for ages in found for age in ages),
    )
    figures = [
        statistics.median(first),
        first[-1],
        statistics.median(every),
        every[int(len(every) * 0.99)],
    ]
    ratio = (
        f"{statistics.median(every) / statistics.median(a for ages in base for a in ages):9.1f}x"
        if base
        else ""
    )
    return f"{name:<34}" + "".join(f"{figure:>12.1f}" for figure in figures) + ratio


def main() -> None:
    with AnthropicServer() as claude, tempfile.TemporaryDirectory() as folder:
        settings = {
            "HITL_PROVIDER": "anthropic",
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": claude.url,
        }
        with Server(Path(folder), **settings) as server:
            key = server.key("approver")
            print(
                f"{'age of a delta when it is read, ms':<34}{'first p50':>12}{'first max':>12}{'all p50':>12}{'all p99':>12}"
            )
            for streams, rounds in ((1, 5), (50, 1)):
                base = measured(claude, lambda: directly(claude), streams, rounds)
                ours = measured(
                    claude, lambda: through_pausepoint(server, key), streams, rounds
                )
                print(row(f"{streams} at once, directly", base))
                print(row(f"{streams} at once, through Pausepoint", ours, base))
                sys.stdout.flush()


if __name__ == "__main__":
    main()
