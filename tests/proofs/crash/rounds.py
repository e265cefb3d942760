"""Rounds of a story in which a server is killed: Alice writes, Bob approves, and both try again while the server is away."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.proofs.crash.browser import GONE
from tests.proofs.crash.till import Till, open_requests, patiently
from tests.support.services import ROUNDS

#: Plays one round at a point, with this name, and checks the result.
PlayRound = Callable[[Till, str, str], None]


@contextlib.contextmanager
def open_till(template: Path, folder: Path) -> Iterator[Till]:
    """Yield a shop with Alice and Bob logged in."""
    till = Till(folder)
    shutil.copy(template, till.database)
    try:
        till.up()
        till.alice.log_in()
        till.bob.log_in()
        yield till
    finally:
        till.end()


@contextlib.contextmanager
def open_lane(template: Path, folder: Path, play_round: PlayRound) -> Iterator[Callable[[str], int]]:
    """Yield a function that plays all rounds at a point of one shop and returns the number of kills there."""
    with open_till(template, folder) as till:

        def play(point: str) -> int:
            kills = till.kills
            for number in range(ROUNDS):
                play_round(till, point, f"{number}-{point.replace(' ', '-').replace(',', '')}")
            return till.kills - kills

        yield play


class Pages:
    """How Alice writes and Bob decides: on the pages."""

    def __init__(self, till: Till, ref: str) -> None:
        self.till, self.ref = till, ref

    def write(self, agent: str, text: str) -> None:
        self.till.alice.post("/chats/new/", agent=agent, text=text)

    def decide(self, request: UUID, kind: str) -> None:
        press(self.till, request, **verdict(self.till, kind, self.ref))


def run_chat(till: Till, point: str, *, agent: str, text: str, people: Pages) -> int:
    """Play a chat of `agent` until its turn has completed and the server was killed at `point`; return the chat's number."""
    till.control.write_text(point)
    kills = till.kills
    for _ in patiently("the message to be stored"):
        if till.rows("SELECT 1 FROM chats_chat WHERE title = ?", text):
            break
        with retrying(till):
            people.write(agent, text)
    ((chat,),) = till.rows("SELECT id FROM chats_chat WHERE title = ?", text)
    for _ in patiently("the turn to complete"):
        till.up()
        if till.rows("SELECT 1 FROM chats_turn WHERE chat_id = ? AND state = 'completed'", chat):
            break
        for request, kind in open_requests(till, chat):
            with retrying(till):
                people.decide(request, kind)
    for _ in patiently("the events, and the kill"):
        till.up()
        # Not as soon as the control file is gone: its server may still be about to die.
        if till.kills > kills and not undelivered(till, chat):
            return int(chat)
    raise AssertionError("not reached")


@contextlib.contextmanager
def retrying(till: Till) -> Iterator[None]:
    """Make a click that may meet a dying server; the caller looks at the result and clicks again."""
    till.up()
    with contextlib.suppress(*GONE):
        yield
    till.up()


def press(till: Till, request: UUID, **fields: str) -> None:
    """Send Bob's decision form, with the digest that his page shows."""
    digest = re.search(r"sha256:[0-9a-f]{64}", till.bob.get(f"/requests/{request}/"))
    assert digest is not None
    till.bob.post(f"/requests/{request}/decide/", digest=digest.group(), **fields)


def verdict(till: Till, kind: str, ref: str) -> dict[str, str]:
    """Return Bob's decision: he approves, and when the outcome of a charge is unknown, he looks at the till and reports it."""
    if kind == "recovery" and ref in till.lines(till.charges):
        return {"verdict": "respond", "text": f'"receipt {ref}"'}
    return {"verdict": "approve"}


def told(till: Till, chat: int) -> Counter[str]:
    """Return how often the stored streams of a chat and of the sub-agents in it tell the result of each call."""
    turns = "SELECT t.id FROM chats_turn t JOIN chats_chat c ON c.id = t.chat_id WHERE c.id = ? OR c.root_id = ?"
    chunks = till.rows(f"SELECT chunk FROM chats_turnevent WHERE turn_id IN ({turns})", chat, chat)
    events = [json.loads(chunk) for (chunk,) in chunks]
    return Counter(one["tool_call_id"] for one in events if one["event"] in {"ToolSucceeded", "ToolFailed"})


def started_calls(till: Till, chat: int) -> Counter[str]:
    """Return each call of a chat and of the sub-agents in it that was started, once."""
    calls = (
        "SELECT tool_call_id FROM chats_toolcall l JOIN chats_chat c ON c.id = l.chat_id "
        "WHERE l.attempt > 0 AND (c.id = ? OR c.root_id = ?)"
    )
    return Counter(call for (call,) in till.rows(calls, chat, chat))


def undelivered(till: Till, chat: int) -> list[Any]:
    """Return the events of a chat that are still to be delivered."""
    return till.rows(
        "SELECT id FROM approvals_outboxevent WHERE stream LIKE ? AND delivered_at IS NULL", f"chat:{chat}:%"
    )
