"""kill -9 of a web process and of a worker at every write point of a turn, on PostgreSQL: nothing lost, nothing done twice.

Another worker stands by and takes over the killed one's turns; the killed one comes back when the round is over. A web
process is started again at once, as it would be anywhere, and people check the result of their click and click again.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.proofs.crash.browser import words
from tests.proofs.crash.lanes import chosen_points, play_in_lanes
from tests.proofs.crash.rounds import verdict
from tests.proofs.crash.test_write_points import STORY
from tests.proofs.team.desk import STARTING, Desk, copied_database
from tests.proofs.team.points import VICTIMS
from tests.support.processes.server import Person, until
from tests.support.services import ROUNDS, real_processes  # noqa: F401 - a fixture

#: Desks at the same time.
DESKS = 3
POINTS = [*VICTIMS]
PROCESSES = ("web", "worker 1", "worker 2")
GONE = (OSError, http.client.HTTPException)

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("real_processes")]


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Counter[str]]:
    """Return the processes killed at a point. All chosen points are played with the first one requested."""
    points = chosen_points(request)
    # Here and not in the lanes: two at once would both make the database that all copy.
    databases = [copied_database() for _ in range(min(DESKS, len(points)))]
    desks = [Desk(tmp_path_factory.mktemp("desk"), DATABASE_URL=database) for database in databases]
    return play_in_lanes(points, [functools.partial(open_lane, desk) for desk in desks])


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_here_loses_nothing_and_repeats_nothing(point, played):
    killed = played(point)
    assert (killed.total(), killed.keys() - VICTIMS[point]) == (ROUNDS, set())


@contextlib.contextmanager
def open_lane(desk: Desk) -> Iterator[Callable[[str], Counter[str]]]:
    """Yield a function that plays all rounds at a point of one desk, and returns the killed processes."""
    try:
        desk.tend(*PROCESSES)
        alice, bob = Person(desk, "requester"), Person(desk, "approver")  # type: ignore[arg-type]
        alice.log_in()
        bob.log_in()

        def play(point: str) -> Counter[str]:
            before = desk.kills.copy()
            for number in range(ROUNDS):
                play_round(desk, point, f"{number}-{point.replace(' ', '-').replace(',', '')}", alice, bob)
            return desk.kills - before

        yield play
    finally:
        desk.end()


def play_round(desk: Desk, point: str, ref: str, alice: Person, bob: Person) -> None:
    desk.tend(*PROCESSES)
    desk.control.write_text(point)
    kills, text = desk.kills.total(), f"charge {ref}"

    def stored() -> bool:
        if desk.rows("SELECT 1 FROM chats_chat WHERE title = %s", text):
            return True
        with clicking(desk):
            alice.start_chat(text, agent="cashier")
        return False

    until(stored, "the message is stored", STARTING)
    sql = "SELECT t.chat_id, t.id FROM chats_turn t JOIN chats_chat c ON c.id = t.chat_id WHERE c.title = %s"
    ((chat, turn),) = desk.rows(sql, text)

    def completed() -> bool:
        for request, kind in open_requests(desk, chat):
            with clicking(desk):
                bob.decide(request, **verdict(desk, kind, ref))  # type: ignore[arg-type]
        return desk.rows("SELECT state FROM chats_turn WHERE id = %s", turn) == [("completed",)]

    until(completed, f"the turn is completed after a kill at {point!r}", STARTING)

    def over() -> bool:
        desk.tend("web")
        # Not as soon as the control file is gone: its process may still be about to die.
        return desk.kills.total() > kills and not undelivered(desk, chat)

    until(over, f"the kill at {point!r}, and all events", STARTING)
    check(desk, ref, chat, turn, alice)


@contextlib.contextmanager
def clicking(desk: Desk) -> Iterator[None]:
    """A click that may meet a dying web process; the person then checks its result."""
    desk.tend("web")
    with contextlib.suppress(*GONE):
        yield


def open_requests(desk: Desk, chat: int) -> list[Any]:
    sql = "SELECT id, kind FROM approvals_approvalrequest WHERE scope = %s AND status = 'pending'"
    return desk.rows(sql, f"chat:{chat}")


def undelivered(desk: Desk, chat: int) -> list[Any]:
    sql = "SELECT id FROM approvals_outboxevent WHERE stream LIKE %s AND delivered_at IS NULL"
    return desk.rows(sql, f"chat:{chat}:%")


def check(desk: Desk, ref: str, chat: int, turn: int, alice: Person) -> None:
    assert desk.lines(desk.charges).count(ref) == 1
    calls = "SELECT state, output::text, attempt > 0 FROM chats_toolcall WHERE turn_id = %s"
    assert desk.rows(calls, turn) == [("succeeded", f'"receipt {ref}"', True)]
    scope = f"chat:{chat}"
    audit = Counter(event for (event,) in desk.rows("SELECT event FROM approvals_auditentry WHERE scope = %s", scope))
    asked = len(desk.rows("SELECT id FROM approvals_approvalrequest WHERE scope = %s", scope))
    decided = (
        "SELECT 1 FROM approvals_decision d JOIN approvals_approvalrequest r ON r.id = d.request_id WHERE r.scope = %s"
    )
    assert (audit["tool.result"], audit["request.decided"], len(desk.rows(decided, scope))) == (1, asked, asked)
    found = "SELECT kind, ordinal FROM chats_turncheckpoint WHERE turn_pk = %s ORDER BY ordinal"
    assert desk.rows(found, turn) == [*(("partial", number) for number in range(asked)), ("final", asked)]
    messages = "SELECT count(DISTINCT message_id) FROM chats_turncheckpoint WHERE turn_pk = %s"
    assert desk.rows(messages, turn) == [(1,)]
    page = alice.get(f"/chats/{chat}/")
    shown = words(page.text)
    assert (page.status, shown.count("I charge the card as soon as somebody agrees.")) == (200, 1)
    assert shown.count(f"That is done, and here is what I got: receipt {ref}") == 1
    heard = dict.fromkeys(line for line in desk.lines(desk.heard) if line.startswith(f"{scope}:"))
    # On a machine so slow that the lease of a living worker lapses, a tool's own result may overtake the question about
    # its outcome: between its beginning and its end the story is told in more than one order, and each thing once.
    names = [line.split()[2] for line in heard]
    assert (names[:3], names[-1]) == (STORY[:3], STORY[-1])
    told = {"request.created": asked, "turn.suspended": asked, "request.decided": asked}
    assert Counter(names) == told | {"tool.result": 1, "turn.completed": 1}
