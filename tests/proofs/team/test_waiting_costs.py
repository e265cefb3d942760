"""Waiting costs rows and nothing else: no thread, no connection, no task, for turns and for their waiting clients.

The bounds are the ones that "How it scales" states.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import pytest

from benchmarks.load.costs import connections, threads
from benchmarks.load.crowds import SCRIPT
from benchmarks.load.lines import Line, dashboard, dial
from benchmarks.load.program import Program, make_key
from tests.proofs.team.agents import AGENTS
from tests.support.processes.deployed import Site, new_database, site
from tests.support.processes.server import until
from tests.support.services import real_processes  # noqa: F401 - a fixture

TURNS, WAITING = 2_000, 200
#: Threads of a process at rest, for any number of waiting turns; connections to the database that one process may hold.
THREADS, POOL = 40, 20

#: So many are let in before the next ones come: a client that waits for a connection longer than 20 s is rejected.
AT_ONCE = 10

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


@pytest.fixture
def installed(tmp_path) -> Iterator[tuple[Site, str, str]]:
    """A site without processes, the URL of its database, and a key of an approver's."""
    url = new_database()
    with site(tmp_path, DATABASE_URL=f"{url}?pool={POOL}", HITL_AGENTS=AGENTS) as found:
        found.set_up()
        yield found, url, make_key(found)


def test_two_thousand_suspended_turns_hold_no_thread_no_task_and_no_connection(installed):
    found, url, key = installed
    port = found.serve()
    found.work()
    web, worker = (process.pid for process in found.processes)
    program = Program(port, key)
    request = program.pause("the-first")
    held = connections(url)
    found.run(SCRIPT.format(number=TURNS, with_record=False))
    # The turns that were there all the time are gone through, and one of the crowd is answered and ends.
    program.approve(request)
    until(lambda: program.status("the-first") == "idle", "the answered turn has ended")
    assert (
        found.run("from chats.models import Turn; print(Turn.objects.filter(state='suspended').count())")
        == f"{TURNS}\n"
    )
    assert max(threads(web), threads(worker)) <= THREADS
    until(lambda: connections(url) <= held + POOL, "no connection is held for a turn")
    idle = 'pausepoint_turns_running{kind="worker"} 0.0'
    # On a busy machine the metrics may have to be read again; a worker reports its load every few seconds.
    shown = until(lambda: (text := found.ask("/metrics", port=port)[2]) and idle in text and text, "the worker is idle")
    assert f'pausepoint_turns{{state="suspended"}} {TURNS}.0' in shown


async def stream(port: int, bearer: str) -> Line:
    """A follower of the events, whose stream has begun."""
    line = await dial(port, "GET", "/api/v1/events", Authorization=bearer)
    await line.until(b"text/event-stream")
    return line


async def decided(port: int, address: str, bearer: str) -> bytes:
    """Poll until it is approved, again where a minute has passed meanwhile; the last answer's first line."""
    while True:
        line = await dial(port, "GET", address, Authorization=bearer)
        await line.until(b'"status":"')
        answer = await line.until(b"}")
        line.close()
        if b'"status":"pending"' not in answer:
            assert b'"status":"approved"' in answer
            return answer.split(b"\r\n")[0]


def test_hundreds_of_long_polls_streams_and_dashboards_hold_no_thread_and_no_connection_each(installed):
    found, url, key = installed
    port = found.serve()
    (web,) = (process.pid for process in found.processes)
    person = found.person("approver")
    cookie = "; ".join(f"{name}={value}" for name, value in person.cookies.items())
    program = Program(port, key, make_key(found, "admin"))
    asked = program.ask()
    bearer = f"Bearer {key}"

    async def wait_and_decide() -> None:
        async with contextlib.AsyncExitStack() as stack:

            def kept(line: Line) -> Line:
                stack.callback(line.close)
                return line

            pages = [kept(await dashboard(port, cookie)) for _ in range(WAITING)]
            streams = [kept(await stream(port, bearer)) for _ in range(WAITING)]
            address = f"/api/v1/requests/{asked['id']}?wait=60"
            polls = []
            for number in range(WAITING):
                polls.append(asyncio.create_task(decided(port, address, bearer)))
                if number % AT_ONCE == AT_ONCE - 1:
                    # They have been accepted: a later one is answered.
                    await asyncio.to_thread(program.send, "GET", "/api/v1/requests?limit=1")
            for page in pages:
                page.forget()
            await asyncio.to_thread(until, lambda: threads(web) <= THREADS, "the threads of the requests have ended")
            assert connections(url) <= POOL
            await asyncio.to_thread(program.approve, asked["id"])
            assert set(await asyncio.gather(*polls)) == {b"HTTP/1.1 200 OK"}
            await asyncio.gather(*(line.until(asked["id"].encode()) for line in [*streams, *pages]))
            assert connections(url) <= POOL

    asyncio.run(wait_and_decide())
    until(lambda: threads(web) <= THREADS, "the threads have ended")
