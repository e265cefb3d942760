"""kill -9 between an agent and the agent that works for it: the charge happens once, and its answer arrives above."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.proofs.crash.browser import words
from tests.proofs.crash.points import NESTED
from tests.proofs.crash.test_write_points import seen, trying, verdict
from tests.proofs.crash.till import Till, open_requests, patiently
from tests.support.services import ROUNDS

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("point", NESTED)
def test_a_kill_between_two_agents_loses_nothing_and_repeats_nothing(point, played):
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
            play_round(till, f"nested-{number}")
        return till.kills
    finally:
        if till.process is not None:
            till.process.kill()


def play_round(till: Till, ref: str) -> None:
    till.control.write_text(till.point)
    kills, text = till.kills, f"have {ref} charged"
    for _ in patiently("the message to be stored"):
        if till.rows("SELECT 1 FROM chats_chat WHERE title = ?", text):
            break
        with trying(till):
            till.alice.post("/chats/new/", agent="manager", text=text)
    ((chat,),) = till.rows("SELECT id FROM chats_chat WHERE title = ?", text)
    for _ in patiently("the turn to complete"):
        till.up()
        if till.rows("SELECT 1 FROM chats_turn WHERE chat_id = ? AND state = 'completed'", chat):
            break
        for request, kind in open_requests(till, chat):
            with trying(till):
                till.bob.post(f"/requests/{request}/decide/", **seen(till, request), **verdict(till, kind, ref))
    for _ in patiently("the kill"):
        till.up()
        if till.kills > kills:
            break
    check(till, ref, chat)


def check(till: Till, ref: str, chat: int) -> None:
    family = "SELECT id FROM chats_chat WHERE id = ? OR root_id = ?"
    assert till.lines(till.charges).count(ref) == 1
    calls = till.rows(f"SELECT name, state FROM chats_toolcall WHERE chat_id IN ({family}) ORDER BY id", chat, chat)
    assert calls == [("cashier", "succeeded"), ("charge", "succeeded")]
    turns = till.rows(f"SELECT agent, state FROM chats_turn WHERE chat_id IN ({family}) ORDER BY id", chat, chat)
    assert turns == [("manager", "completed"), ("cashier", "completed")]
    scope = f"chat:{chat}"
    audit = Counter(till.rows("SELECT event, tool_name FROM approvals_auditentry WHERE scope = ?", scope))
    assert (audit[("tool.result", "charge")], audit[("tool.result", "cashier")]) == (1, 1)
    statuses = till.rows("SELECT status FROM approvals_approvalrequest WHERE scope = ?", scope)
    decided = sum(count for (event, _), count in audit.items() if event == "request.decided")
    assert ("pending",) not in statuses
    assert len(statuses) == decided
    finals = f"SELECT chat_pk FROM chats_turncheckpoint WHERE kind = 'final' AND chat_pk IN ({family})"
    assert len(till.rows(finals, chat, chat)) == 2
    page = words(till.alice.get(f"/chats/{chat}/"))
    assert page.count("The cashier does that.") == 1
    told = f"The cashier told me: That is done, and here is what I got: receipt {ref}"
    assert page.count(told) == 1
