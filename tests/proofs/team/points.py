"""Where a web process or a worker is killed, by name: the write points of a turn, and those of the queue between the two."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chats import doorbell
from chats.engine import jobs
from chats.pages import views as pages
from tests.proofs.crash import agents
from tests.proofs.crash.points import POINTS, QUEUED, after, before, die_at

Install = Callable[[str], None]


def inside_the_tool(point: str) -> None:
    """Begun, and nothing is charged yet."""
    note = agents.note

    def noted(file: str, line: str) -> None:
        if file == agents.CHARGES:
            die_at(point)
        note(file, line)

    agents.note = noted


def around_a_job(point: str, *, taken: bool) -> None:
    """A worker has taken a job off the queue, or has done with it and not said so yet."""
    run = jobs.Jobs.run

    @functools.wraps(run)
    async def running(self: jobs.Jobs, turn_id: int) -> Any:
        if taken:
            die_at(point)
        await run(self, turn_id)
        if not taken:
            die_at(point)

    jobs.Jobs.run = running  # type: ignore[method-assign]


#: "in" is inside the transaction, before its commit; the others are between two commits.
WEB: dict[str, Install] = {
    "arrive, in": POINTS["arrive, in"],
    "job put, in": lambda p: after(p, doorbell, "enqueue"),
    "arrived": lambda p: before(p, pages, "redirect"),
    "decision commit, in": POINTS["decision commit, in"],
    "decision commit": POINTS["decision commit"],
    "resume, in": QUEUED["resume, in"],
    "resume": QUEUED["resume"],
}
WORKER: dict[str, Install] = {
    "job taken": lambda p: around_a_job(p, taken=True),
    "claim": QUEUED["claim"],
    "mid-stream": POINTS["mid-stream"],
    "step stored, in": POINTS["step stored, in"],
    "pause commit, in": POINTS["pause commit, in"],
    "pause commit": POINTS["pause commit"],
    "job finished": lambda p: around_a_job(p, taken=False),
    "tool claimed": POINTS["tool claimed"],
    "during the side effect": inside_the_tool,
    "side effect done but not recorded": POINTS["side effect done but not recorded"],
    "recorded, in": POINTS["recorded, in"],
    "recorded": POINTS["recorded"],
    "mid-stream of the continuation": POINTS["mid-stream of the continuation"],
    "final commit, in": POINTS["final commit, in"],
    "final commit": POINTS["final commit"],
    "outbox row claimed": POINTS["outbox row claimed"],
    "outbox row delivered": POINTS["outbox row delivered"],
}

#: The processes a point may kill. A decision's turn is resumed by its web process, or by a worker's sweep that was first.
VICTIMS: dict[str, frozenset[str]] = {
    **dict.fromkeys(WEB, frozenset({"web"})),
    **dict.fromkeys(WORKER, frozenset({"worker"})),
    **dict.fromkeys(("resume, in", "resume"), frozenset({"web", "worker"})),
}
