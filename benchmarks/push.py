"""Measure how soon live pages show a new request, by the number of pages, with and without Redis.

    .venv/bin/python -m benchmarks.push [--dashboards 1 50 200 500] [--requests 5] [--people 500]

Each dashboard is another person's, as far as there are so many `--people`: half of them decide, the others only look.
Measured from before the request is asked until each page has it. The processes never look at rows again by the clock
(`tests/proofs/team/pushed_only.py`): everything that arrives was pushed. With Redis the other web process is asked.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time

from benchmarks.figures import Table
from benchmarks.load.lines import Line, dashboard
from benchmarks.stage import POSTGRESQL, Stage, stage
from tests.support.processes.ports import free_port
from tests.support.processes.server import until

PEOPLE = """
from django.contrib.auth.models import Permission, User
from django.test import Client
allowed = [Permission.objects.get(codename=f"{{may}}_approvalrequest") for may in ("decide", "view")]
for number in range({people}):
    person = User.objects.create_user(f"person-{{number}}")
    person.user_permissions.add(allowed[number % 2])
    client = Client()
    client.force_login(person)
    print(client.session.session_key)
"""


def serve(found: Stage) -> None:
    port = free_port()
    found.site.start_program("-m", "tests.proofs.team.pushed_only", str(port))
    until(
        lambda: found.site.ask("/healthz", port=port)[0] == 200,
        "the web process answers",
    )
    found.ports.append(port)
    found.site.port = port


async def arrives(line: Line, wanted: bytes, began: float) -> float:
    await line.until(wanted)
    line.forget()
    return (time.monotonic() - began) * 1000


async def pushes(
    found: Stage, sessions: list[str], dashboards: int, requests: int
) -> list[float]:
    turns = itertools.islice(itertools.cycle(sessions), dashboards)
    lines = [
        await dashboard(found.ports[0], f"sessionid={session}") for session in turns
    ]
    program, ages = found.program(1), []
    # Not counted: all pages have connected when it arrives.
    for counted in range(requests + 1):
        began = time.monotonic()
        asking = asyncio.create_task(
            asyncio.to_thread(program.ask, tool_call_id=f"{dashboards}-{counted}")
        )
        asked = await asking
        came = await asyncio.gather(
            *(arrives(line, asked["id"].encode(), began) for line in lines)
        )
        ages += came if counted else []
    for line in lines:
        line.close()
    return ages


def to_many(dashboards: int, requests: int) -> list[float]:
    """Return the ms until each of so many pages has a request, of different people, in one process."""
    with stage(POSTGRESQL, webs=0, workers=0, redis=False) as found:
        serve(found)
        sessions = found.site.run(PEOPLE.format(people=dashboards)).split()
        return asyncio.run(pushes(found, sessions, dashboards, requests))


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--dashboards", type=int, nargs="+", default=[1, 50, 200, 500])
    options.add_argument("--requests", type=int, default=5)
    options.add_argument("--people", type=int, default=500)
    given = options.parse_args()
    table = Table("from asking to each open page")
    for name, redis, webs in (
        ("one process, in memory", False, 1),
        ("two processes, Redis", True, 2),
    ):
        with stage(POSTGRESQL, webs=0, workers=0, redis=redis) as found:
            for _ in range(webs):
                serve(found)
            sessions = found.site.run(PEOPLE.format(people=given.people)).split()
            for dashboards in given.dashboards:
                taken = asyncio.run(pushes(found, sessions, dashboards, given.requests))
                table.row(f"{name}, {dashboards} dashboards", taken)


if __name__ == "__main__":
    main()
