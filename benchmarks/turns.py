"""Stream many turns at once on two workers: measure the time to the first words, and check that all complete.

    .venv/bin/python -m benchmarks.turns [--turns 50] [--workers 2]      (--turns 200 is the full size)

Each turn says forty words in two seconds. PostgreSQL, Redis, one web process that sends all the streams.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from uuid import uuid4

from benchmarks.figures import Table
from benchmarks.load.lines import dial
from benchmarks.stage import Stage, stage


async def stream(found: Stage) -> tuple[float, float, bool]:
    """Return the ms to the first word and to the end, and whether all forty words arrived."""
    message = {
        "id": uuid4().hex,
        "role": "user",
        "parts": [{"type": "text", "text": "recite"}],
    }
    body = json.dumps({"id": uuid4().hex, "message": message}).encode()
    began = time.monotonic()
    headers = {
        "Authorization": f"Bearer {found.key}",
        "Content_Type": "application/json",
    }
    line = await dial(found.ports[0], "POST", "/api/chat", body, **headers)
    await line.until(b'"type":"text-delta"')
    first = time.monotonic()
    seen = await line.until(b"data: [DONE]")
    line.close()
    whole = (
        all(f"word{number} " in seen.decode() for number in range(39))
        and b'"type":"finish"' in seen
    )
    return (first - began) * 1000, (time.monotonic() - began) * 1000, whole


async def at_once(found: Stage, turns: int) -> list[tuple[float, float, bool]]:
    return await asyncio.gather(*(stream(found) for _ in range(turns)))


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--turns", type=int, default=50)
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    with stage(workers=given.workers) as found:
        asyncio.run(at_once(found, 2))
        every = asyncio.run(at_once(found, given.turns))
        states = found.site.run(
            "from chats.models import Turn; print(Turn.objects.exclude(state='completed').count(), end='')"
        )
    table = Table(
        f"{given.turns} turns at once, {given.workers} workers",
        "ms",
        "whole",
        "not ended",
    )
    whole = f"{sum(one[2] for one in every)}/{given.turns}"
    table.row("to the first word", [one[0] for one in every], whole, states)
    table.row("to the end", [one[1] for one in every], whole, states)


if __name__ == "__main__":
    main()
