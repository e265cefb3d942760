"""Slow texts arrive in many deltas, before and after a pause."""

from __future__ import annotations

import time

import pytest

from approvals.states import Verdict
from chats.agent.demo import LONG
from tests.support import people
from tests.support.chats.turns import (
    chunks,
    converse,
    decide,
    last_text,
    only_request,
    run,
    shape,
)

pytestmark = pytest.mark.django_db(transaction=True)
EXPRESS = {"fieldName": "delivery", "selected": ["Express"], "selectedIndex": 1}


def test_slow_texts_arrive_in_many_deltas_before_and_after_a_pause():
    alice = people.alice()
    turn = converse(alice, "ask slow")
    assert shape(turn) == ["step-start", "text", "input-available"]
    decide(only_request(turn), alice, Verdict.RESPOND, answer=EXPRESS)
    before, began = len(chunks(turn, "TextDelta")), time.monotonic()
    turn = run(turn)
    took = time.monotonic() - began
    deltas = len(chunks(turn, "TextDelta")) - before
    assert (last_text(turn), turn.finish_reason) == (f"You chose Express. {LONG}", "stop")
    assert (deltas, took >= 1) == (len(f"You chose Express. {LONG}".split()), True)
