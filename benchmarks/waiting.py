"""Measure long polls on one web process: what they cost, and how soon one is answered after a decision.

    .venv/bin/python -m benchmarks.waiting [--polls 200] [--decisions 20] [--seconds 10]      (--polls 1000 is the full size)

Each waits for a request of its own. Measured: the share of a core while nothing happens, threads, connections to the
database, memory; then, while all wait, from sending a decision until its own long poll has its whole answer.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from uuid import UUID

from benchmarks.figures import Table
from benchmarks.load.costs import connections, cpu, memory, threads
from benchmarks.load.lines import Line, dial
from benchmarks.stage import Stage, stage

ASK_MANY = """
from uuid import uuid4
from approvals.models import ApprovalRequest, Workflow
from benchmarks.load.crowds import copy_of
one = ApprovalRequest.objects.select_related("workflow").latest("created_at")
made = []
for _ in range({number}):
    new = uuid4()
    workflow = copy_of(one.workflow, key=str(new))
    made.append((workflow, copy_of(one, id=new, workflow=workflow, tool_call_id=None)))
Workflow.objects.bulk_create(workflow for workflow, _ in made)
for workflow, request in made:
    request.workflow = workflow
ApprovalRequest.objects.bulk_create(request for _, request in made)
print("\\n".join(str(request.pk) for _, request in made))
"""


async def poll(found: Stage, request: str) -> Line:
    return await dial(
        found.ports[0],
        "GET",
        f"/api/v1/requests/{request}?wait=60",
        Authorization=f"Bearer {found.key}",
    )


async def look(found: Stage, name: str, seconds: float) -> None:
    (web,) = found.webs
    before = cpu(web)
    await asyncio.sleep(seconds)
    share = (cpu(web) - before) / seconds * 100
    cells = [
        f"{share:.1f} % of a core",
        f"{threads(web)} threads",
        f"{memory(web) / 1024:.1f} MiB",
    ]
    print(
        f"{name:<30}"
        + ", ".join([*cells, f"{connections(found.url)} connections to the database"]),
        flush=True,
    )


async def measured(
    found: Stage, requests: list[str], decisions: int, seconds: float
) -> list[float]:
    await look(found, "nobody waits", seconds)
    lines = {request: await poll(found, request) for request in requests}
    program, taken = found.program(), []
    # After all of them: when this is answered, they have all been accepted.
    await asyncio.to_thread(program.send, "GET", "/api/v1/requests?limit=1")
    await look(found, f"{len(requests)} wait", seconds)
    for request in requests[:decisions]:
        assert UUID(request)
        began = time.monotonic()
        deciding = asyncio.create_task(asyncio.to_thread(program.approve, request))
        await lines[request].until(b'"status":"approved"')
        taken.append((time.monotonic() - began) * 1000)
        await deciding
    for line in lines.values():
        line.close()
    return taken


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--polls", type=int, default=200)
    options.add_argument("--decisions", type=int, default=20)
    options.add_argument("--seconds", type=float, default=10)
    given = options.parse_args()
    with stage() as found:
        found.program().ask()
        requests = found.site.run(ASK_MANY.format(number=given.polls)).split()
        taken = asyncio.run(measured(found, requests, given.decisions, given.seconds))
    Table(f"a decision, while {given.polls} wait").row(
        "until its long poll has answered", taken
    )


if __name__ == "__main__":
    main()
