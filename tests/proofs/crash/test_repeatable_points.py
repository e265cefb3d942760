"""kill -9 around a call of an idempotent tool: it runs again with the same id, and no person is asked."""

from __future__ import annotations

import pytest

from tests.proofs.crash.browser import words
from tests.proofs.crash.points import REPEATABLE
from tests.proofs.crash.rounds import Pages, run_chat, told
from tests.proofs.crash.till import Till
from tests.support.services import ROUNDS

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("point", REPEATABLE)
def test_a_kill_around_an_idempotent_tool_needs_no_person(point, played):
    assert played(point) == ROUNDS


def play_round(till: Till, point: str, ref: str) -> None:
    chat = run_chat(till, point, agent="cashier", text=f"reserve {ref}", people=Pages(till, ref))
    calls = till.rows("SELECT tool_call_id, state, output FROM chats_toolcall WHERE chat_id = ?", chat)
    ((call_id, state, output),) = calls
    assert (state, output) == ("succeeded", f'"reserved {ref}"')
    assert {line for line in till.lines(till.charges) if line.split()[0] == ref} == {f"{ref} {call_id}"}
    scope = f"chat:{chat}"
    assert till.rows("SELECT event FROM approvals_auditentry WHERE scope = ?", scope) == [("tool.result",)]
    assert till.rows("SELECT id FROM approvals_approvalrequest WHERE scope = ?", scope) == []
    assert told(till, chat) == {call_id: 1}
    page = words(till.alice.get(f"/chats/{chat}/"))
    assert page.count(f"That is it: reserved {ref}") == 1
