"""Threads and runners that act on the same turn at the same time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from approvals.exceptions import Refusal
from approvals.models import AuditEntry, Decision
from approvals.states import Door, Verdict
from chats import actions
from chats.engine import runner
from chats.models import Turn
from tests.support import people
from tests.support.chats import agents
from tests.support.chats.turns import converse, decide, make_chat, only_request, reload, results_on_record, run, say

pytestmark = pytest.mark.django_db(transaction=True)


def all_at_once(works: list[Callable[[], Any]]) -> list[str]:
    """Run each in a thread of its own; return for each "done", or the code of its refusal."""

    def one(work: Callable[[], Any]) -> str:
        try:
            work()
        except Refusal as refusal:
            return refusal.code
        finally:
            connections.close_all()
        return "done"

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(one, works))


def test_one_of_ten_simultaneous_messages_starts_a_turn():
    chat = make_chat(people.alice())
    ends = all_at_once([lambda: say(chat, "hello") for _ in range(10)])
    assert (Counter(ends), Turn.objects.count(), chat.messages.count()) == ({"done": 1, "turn_running": 9}, 1, 1)


def test_a_simultaneous_decision_and_stop_have_one_winner(settings):
    settings.HITL_AGENTS = [agents.PATH]
    agents.ran.clear()
    alice, bob = people.alice(), people.bob()
    for _ in range(5):
        agents.ran.clear()
        turn = converse(alice, "pay")
        request = only_request(turn)
        all_at_once(
            [
                lambda request=request: decide(request, bob, Verdict.APPROVE),
                lambda turn=turn: actions.stop_turn(turn.chat, by=alice, via=Door.CHAT),
            ]
        )
        turn = run(turn)
        call = turn.tool_calls.get()
        assert (turn.state, Decision.objects.filter(request=request).count()) == ("stopped", 1)
        assert (call.state, agents.ran, results_on_record(turn)) == ("cancelled", [], {call.tool_call_id: 1})


def test_ten_simultaneous_resumes_queue_a_turn_once():
    alice = people.alice()
    turn = converse(alice, "ask")
    decide(only_request(turn), alice, Verdict.RESPOND, answer="x")
    before = reload(turn).attempt
    ends = all_at_once([lambda: actions.resume_turn(turn.pk) for _ in range(10)])
    assert (set(ends), reload(turn).state) == ({"done"}, "queued")
    turn = run(turn)
    assert (turn.state, turn.attempt) == ("completed", before + 1)


def test_two_simultaneous_runners_run_a_tool_once(settings):
    settings.HITL_AGENTS = [agents.PATH]
    agents.ran.clear()
    turn = converse(people.alice(), "pay")
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    ends = all_at_once([lambda: asyncio.run(runner.advance(turn.pk, asyncio.Event())) for _ in range(3)])
    turn = reload(turn)
    assert (set(ends), turn.state, agents.ran) == ({"done"}, "completed", [("pay", (5, "Eve"))])
    assert AuditEntry.objects.filter(event="tool.result").count() == 1
