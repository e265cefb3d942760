"""kill -9 of a real server at every write point of a turn: nothing lost, nothing done twice.

Each round uses the database that the rounds before left behind.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.proofs.crash.browser import Browser, words
from tests.proofs.crash.points import POINTS
from tests.proofs.crash.rounds import Pages, run_chat, started_calls, told
from tests.proofs.crash.till import Till
from tests.support.services import ROUNDS

STORY = ["request.created", "turn.suspended", "request.decided", "tool.result", "turn.completed"]

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_here_loses_nothing_and_repeats_nothing(point, played):
    assert played(point) == ROUNDS


def play_round(till: Till, point: str, ref: str) -> None:
    chat = run_chat(till, point, agent="cashier", text=f"charge {ref}", people=Pages(till, ref))
    ((turn,),) = till.rows("SELECT id FROM chats_turn WHERE chat_id = ?", chat)
    check(till, ref, chat, turn, till.alice)


def check(till: Till, ref: str, chat: int, turn: int, owner: Browser) -> None:
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
    assert told(till, chat) == started_calls(till, chat)
    page = words(owner.get(f"/chats/{chat}/"))
    assert page.count("I charge the card as soon as somebody agrees.") == 1
    assert page.count(f"That is done, and here is what I got: receipt {ref}") == 1
    names = [line.split()[2] for line in till.lines(till.heard) if line.startswith(f"{scope}:")]
    first_heard = list(dict.fromkeys(line for line in till.lines(till.heard) if line.startswith(f"{scope}:")))
    extra = ["request.created", "turn.suspended", "request.decided"] * (partials - 1)
    assert [line.split()[2] for line in first_heard] == [*STORY[:3], *extra, *STORY[3:]], names
