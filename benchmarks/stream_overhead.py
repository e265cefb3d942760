"""Measure the delay of each chunk of a stream: from the provider itself, through one process, and from a worker process.

    .venv/bin/python -m benchmarks.stream_overhead [--streams 1 20]

As `benchmarks.streams`: a local server speaks Anthropic's streaming API and writes the time into every delta, so that whoever
reads one knows how old it is. A worker sends its chunks to the web process through Redis, those of 15 ms together; without Redis
the web process reads the stored ones every second.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from benchmarks.figures import Table
from benchmarks.stage import POSTGRESQL, SQLITE, stage
from benchmarks.streams import Ages, directly, measured, through_pausepoint
from tests.support.anthropic_server import KEY, AnthropicServer


def every(found: Sequence[Ages]) -> list[float]:
    return [age for ages in found for age in ages]


def from_a_worker(claude: AnthropicServer, streams: int, rounds: int) -> list[float]:
    """Return the ages in ms of the words that a worker process says, with Redis."""
    settings = {
        "HITL_PROVIDER": "anthropic",
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": claude.url,
    }
    with stage(POSTGRESQL, HITL_AGENTS="chats.agent.demo.support", **settings) as found:
        measured(claude, lambda: through_pausepoint(found.site, found.key), streams, 1)  # type: ignore[arg-type]
        return every(
            measured(
                claude,
                lambda: through_pausepoint(found.site, found.key),
                streams,
                rounds,
            )
        )  # type: ignore[arg-type]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--streams", type=int, nargs="+", default=[1, 20], help="at once"
    )
    given = options.parse_args()
    ways: list[tuple[str, str, dict[str, Any]]] = [
        ("one process, SQLite", SQLITE, {}),
        ("one process, PostgreSQL", POSTGRESQL, {"workers": 0}),
        ("web and worker, Redis", POSTGRESQL, {}),
        ("web and worker, no Redis", POSTGRESQL, {"redis": False}),
    ]
    table = Table("age of a chunk when it is read")
    with AnthropicServer() as claude:
        settings = {
            "HITL_PROVIDER": "anthropic",
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": claude.url,
        }
        for streams in given.streams:
            table.row(
                f"{streams} at once, from the provider",
                every(measured(claude, lambda: directly(claude), streams, 1)),
            )
        for name, database, how in ways:
            with stage(
                database, HITL_AGENTS="chats.agent.demo.support", **settings, **how
            ) as found:
                for streams in given.streams:
                    way = lambda: through_pausepoint(found.site, found.key)  # type: ignore[arg-type] # noqa: E731
                    table.row(
                        f"{streams} at once, {name}",
                        every(measured(claude, way, streams, 1)),
                    )


if __name__ == "__main__":
    main()
