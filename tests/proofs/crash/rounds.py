"""Rounds of a story in which a server is killed: Alice writes, Bob approves, and both try again while the server is away."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.proofs.crash.browser import GONE
from tests.proofs.crash.till import Till, open_requests, patiently
from tests.support.services import ROUNDS

#: Plays one round with this name, and checks what is left of it.
PlayRound = Callable[[Till, str], None]


@contextlib.contextmanager
def open_till(template: Path, folder: Path, point: str) -> Iterator[Till]:
    """Yield a shop whose server dies at `point` once it is armed, with Alice and Bob logged in."""
    till = Till(folder, point)
    shutil.copy(template, till.database)
    try:
        till.up()
        till.alice.log_in()
        till.bob.log_in()
        yield till
    finally:
        if till.process is not None:
            till.process.kill()


def play(play_round: PlayRound, point: str, template: Path, folder: Path) -> int:
    """Play all rounds at one point; return how often the server was killed there."""
    with open_till(template, folder, point) as till:
        for number in range(ROUNDS):
            play_round(till, f"round-{number}")
        return till.kills


def run_chat(till: Till, *, agent: str, text: str, ref: str) -> int:
    """Play a chat of `agent` until its turn has completed and the armed server was killed; return the chat's number."""
    till.control.write_text(till.point)
    kills = till.kills
    for _ in patiently("the message to be stored"):
        if till.rows("SELECT 1 FROM chats_chat WHERE title = ?", text):
            break
        with retrying(till):
            till.alice.post("/chats/new/", agent=agent, text=text)
    ((chat,),) = till.rows("SELECT id FROM chats_chat WHERE title = ?", text)
    for _ in patiently("the turn to complete"):
        till.up()
        if till.rows("SELECT 1 FROM chats_turn WHERE chat_id = ? AND state = 'completed'", chat):
            break
        for request, kind in open_requests(till, chat):
            with retrying(till):
                press(till, request, **verdict(till, kind, ref))
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


def undelivered(till: Till, chat: int) -> list[Any]:
    """Return the events of a chat that are still to be delivered."""
    return till.rows(
        "SELECT id FROM approvals_outboxevent WHERE stream LIKE ? AND delivered_at IS NULL", f"chat:{chat}:%"
    )
