"""kill -9 between an agent and the agent that works for it: the charge happens once, and its answer arrives above."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.proofs.crash.browser import words
from tests.proofs.crash.points import NESTED
from tests.proofs.crash.rounds import Pages, run_chat, started_calls, told
from tests.proofs.crash.till import Till
from tests.support.services import ROUNDS

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("point", NESTED)
def test_a_kill_between_two_agents_loses_nothing_and_repeats_nothing(point, played):
    assert played(point) == ROUNDS


def play_round(till: Till, point: str, ref: str) -> None:
    people = Pages(till, ref)
    check(till, ref, run_chat(till, point, agent="manager", text=f"have {ref} charged", people=people))


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
    streamed = told(till, chat)
    assert (streamed, streamed.total()) == (started_calls(till, chat), 2)
    page = words(till.alice.get(f"/chats/{chat}/"))
    assert page.count("The cashier does that.") == 1
    assert page.count(f"The cashier told me: That is done, and here is what I got: receipt {ref}") == 1
