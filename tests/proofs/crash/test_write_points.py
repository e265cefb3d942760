"""kill -9 of a real server at every write point of a turn: nothing lost, nothing done twice.

A person's view: Alice writes, Bob approves, and both try again when the server was away. Each round uses the database that
the rounds before left behind.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.proofs.crash.browser import GONE, words
from tests.proofs.crash.points import POINTS
from tests.proofs.crash.till import Till, open_requests, patiently
from tests.support.services import ROUNDS

STORY = ["request.created", "turn.suspended", "request.decided", "tool.result", "turn.completed"]

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_here_loses_nothing_and_repeats_nothing(point, played):
    assert played(play, point) == ROUNDS


def play(point: str, template: Path, folder: Path) -> int:
    """All rounds at one point; gives how often the server was really killed there."""
    till = Till(folder, point)
    shutil.copy(template, till.database)
    try:
        till.up()
        till.alice.log_in()
        till.bob.log_in()
        for number in range(ROUNDS):
            play_round(till, f"{number}-{point.replace(' ', '-').replace(',', '')}")
        return till.kills
    finally:
        if till.process is not None:
            till.process.kill()


def play_round(till: Till, ref: str) -> None:
    till.control.write_text(till.point)
    kills = till.kills
    text = f"charge {ref}"
    for _ in patiently("the message to be stored"):
        if till.rows("SELECT 1 FROM chats_message WHERE parts LIKE ?", f'%"{text}"%'):
            break
        with trying(till):
            till.alice.post("/chats/new/", agent="cashier", text=text)
    sql = "SELECT chat_id, id FROM chats_turn WHERE chat_id IN (SELECT id FROM chats_chat WHERE title = ?)"
    ((chat, turn),) = till.rows(sql, text)
    for _ in patiently("the turn to complete"):
        till.up()
        ((state,),) = till.rows("SELECT state FROM chats_turn WHERE id = ?", turn)
        if state == "completed":
            break
        for request, kind in open_requests(till, chat):
            with trying(till):
                till.bob.post(f"/requests/{request}/decide/", **seen(till, request), **verdict(till, kind, ref))
    for _ in patiently("the events, and the kill"):
        till.up()
        # Not as soon as the control file is gone: its server may still be about to die.
        if till.kills > kills and not undelivered(till, chat):
            break
    check(till, ref, chat, turn)


@contextlib.contextmanager
def trying(till: Till) -> Any:
    """A click that may meet a server that is dying; the person looks what became of it and clicks again."""
    till.up()
    with contextlib.suppress(*GONE):
        yield
    till.up()


def seen(till: Till, request: UUID) -> dict[str, str]:
    """What the form that Bob presses sends anyway."""
    return {"digest": re.search(r"sha256:[0-9a-f]{64}", till.bob.get(f"/requests/{request}/")).group()}


def verdict(till: Till, kind: str, ref: str) -> dict[str, str]:
    """Bob approves; asked what became of a charge, he looks at the till and says so."""
    if kind == "recovery" and ref in till.lines(till.charges):
        return {"verdict": "respond", "text": f'"receipt {ref}"'}
    return {"verdict": "approve"}


def undelivered(till: Till, chat: int) -> list[Any]:
    return till.rows(
        "SELECT id FROM approvals_outboxevent WHERE stream LIKE ? AND delivered_at IS NULL", f"chat:{chat}:%"
    )


def check(till: Till, ref: str, chat: int, turn: int) -> None:
    assert till.lines(till.charges).count(ref) == 1
    assert till.rows("SELECT state, output, attempt > 0 FROM chats_toolcall WHERE turn_id = ?", turn) == [
        ("succeeded", f'"receipt {ref}"', 1)
    ]
    scope = f"chat:{chat}"
    audit = Counter(till.rows("SELECT event FROM approvals_auditentry WHERE scope = ?", scope))
    assert audit[("tool.result",)] == 1
    requests = till.rows("SELECT id FROM approvals_approvalrequest WHERE scope = ?", scope)
    decisions = till.rows(
        "SELECT d.verdict FROM approvals_decision d JOIN approvals_approvalrequest r ON r.id = d.request_id WHERE r.scope = ?",
        scope,
    )
    assert len(decisions) == len(requests) == audit[("request.decided",)]
    checkpoints = till.rows(
        "SELECT message_id, kind, ordinal FROM chats_turncheckpoint WHERE turn_pk = ? ORDER BY ordinal", turn
    )
    partials = len(requests)
    assert [(kind, ordinal) for _, kind, ordinal in checkpoints] == [
        *(("partial", number) for number in range(partials)),
        ("final", partials),
    ]
    assert len({message for message, _, _ in checkpoints}) == 1
    page = words(till.alice.get(f"/chats/{chat}/"))
    assert page.count("I charge the card as soon as somebody agrees.") == 1
    assert page.count(f"That is done, and here is what I got: receipt {ref}") == 1
    names = [line.split()[2] for line in till.lines(till.heard) if line.startswith(f"{scope}:")]
    first_heard = list(dict.fromkeys(line for line in till.lines(till.heard) if line.startswith(f"{scope}:")))
    extra = ["request.created", "turn.suspended", "request.decided"] * (partials - 1)
    assert [line.split()[2] for line in first_heard] == [*STORY[:3], *extra, *STORY[3:]], names
