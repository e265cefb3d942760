"""Checkpoints are stored as differences and read back exactly."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from approvals.access.standing import standing_of
from approvals.states import Door, Verdict
from chats import actions, checkpoints, queries
from chats.exceptions import ChatNotFound
from chats.models import Turn
from tests.support import people
from tests.support.chats import agents
from tests.support.chats.scenes import asked, completed, paused, use
from tests.support.chats.turns import (
    checkpoints_of,
    converse,
    decide,
    expected_digests,
    folded,
    kinds,
    only_request,
    parts,
    run,
)

values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2).map(float) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=2),
    max_leaves=4,
)
some_parts = st.lists(st.dictionaries(st.sampled_from(["type", "state", "output"]), values, max_size=3), max_size=5)


@dataclass(frozen=True)
class Kept:
    kept: int
    tail: list[dict[str, Any]]


def stored(history: list[list[dict[str, Any]]]) -> list[Kept]:
    """Return the stored rows of a message's versions: the difference of each from the previous one."""
    rows: list[Kept] = []
    for whole in history:
        rows.append(Kept(*checkpoints.difference(checkpoints.fold(rows), whole)))
    return rows


def exactly(value: Any) -> str:
    """Return JSON text, because `1 == True == 1.0` in Python."""
    return json.dumps(value, sort_keys=True)


@given(st.lists(some_parts, max_size=5))
def test_every_checkpoint_is_read_back_exactly(history):
    rows = stored(history)
    read = [checkpoints.fold(rows[: place + 1]) for place in range(len(rows))]
    assert exactly(read) == exactly(history)


@given(some_parts, some_parts, some_parts)
def test_only_the_difference_is_stored(same, before, after):
    kept, tail = checkpoints.difference([*same, *before], [*same, *after])
    assert kept >= len(same)
    assert exactly(tail) == exactly([*same, *after][kept:])
    assert kept in {len(same) + len(before), len(same) + len(after)} or exactly([*same, *before][kept]) != exactly(
        [*same, *after][kept]
    )


@given(some_parts)
def test_an_unchanged_message_stores_no_parts(whole):
    assert checkpoints.difference(whole, json.loads(json.dumps(whole))) == (len(whole), [])


@pytest.mark.parametrize(("before", "after"), [(1, True), (0, False), (1, 1.0), (None, False)])
def test_values_that_are_equal_only_in_python_differ(before, after):
    assert checkpoints.difference([{"output": before}], [{"output": after}]) == (0, [{"output": after}])


@pytest.mark.django_db(transaction=True)
def test_the_size_of_checkpoints_grows_linearly_with_the_pauses(settings):
    settings.HITL_AGENTS = [agents.PATIENT]
    alice = people.alice()
    turn = converse(alice, "ask in a row")
    shown = [parts(turn)]
    for number in range(16):
        decide(only_request(turn), alice, Verdict.RESPOND, answer=f"answer {number}")
        turn = run(turn)
        shown.append(parts(turn))
    found = list(checkpoints_of(turn))
    assert kinds(turn) == ["partial"] * 16 + ["final"]
    assert [row.ordinal for row in found] == list(range(17))
    assert {(row.message_id, row.run_id) for row in found} == {(turn.message_id, turn.run_id)}
    assert folded(turn) == shown
    assert [queries.parts_at(row) for row in found] == shown
    assert [row.digest for row in found] == expected_digests(found, shown)
    sizes = [len(json.dumps(row.tail)) for row in found[:16]]
    assert max(sizes[1:]) < 2 * min(sizes[1:])
    assert sum(sizes) < 2.5 * sum(sizes[:8])
    assert [row.kept for row in found] == [0, *range(1, 32, 2)]


def checkpoints_read_by_a_stop(turn: Turn) -> list[bool]:
    """Stop a suspended turn; return for each statement that read its checkpoints whether it read only one."""
    with CaptureQueriesContext(connection) as statements:
        assert actions.stop_turn(turn.chat, by=turn.chat.owner, via=Door.CHAT) is True
    return [
        "LIMIT 1" in sql["sql"] for sql in statements if re.match(r'SELECT .* FROM "chats_turncheckpoint"', sql["sql"])
    ]


@pytest.mark.django_db(transaction=True)
def test_a_checkpoint_reads_only_the_last_one(settings):
    settings.HITL_AGENTS = [agents.PATIENT]
    alice = people.alice()
    turn = converse(alice, "ask in a row")
    for _ in range(3):
        decide(only_request(turn), alice, Verdict.RESPOND, answer="yes")
        turn = run(turn)
    assert checkpoints_read_by_a_stop(turn) == [True]
    assert [row.digest for row in checkpoints_of(turn)] == expected_digests(checkpoints_of(turn), folded(turn))
    assert folded(turn)[-1] == parts(turn)


@pytest.mark.django_db(transaction=True)
def test_a_step_that_was_asked_about_twice_is_read_back_exactly(settings):
    settings.HITL_AGENTS = [agents.PATH]
    turn, bob = converse(people.alice(), "pay"), people.bob()
    decide(only_request(turn), bob, Verdict.APPROVE)
    begun = actions.begin_run(turn.pk, owner="one that dies")
    Turn.objects.filter(pk=turn.pk).update(lease_until=Now())
    turn = run(turn)
    assert (begun is not None, only_request(turn).kind) == (True, "recovery")
    first, second = checkpoints_of(turn)
    assert (checkpoints.settled(first), checkpoints.settled(second)) == (0, None)
    assert checkpoints_read_by_a_stop(turn) == [True, False]
    assert [row.digest for row in checkpoints_of(turn)] == expected_digests(checkpoints_of(turn), folded(turn))
    assert folded(turn)[-1] == parts(turn)


@pytest.mark.django_db
def test_checkpoints_are_numbered_per_message():
    chat, _ = asked(people.alice())
    actions.stop_turn(chat, by=chat.owner, via="chat")
    completed(chat)
    paused(chat, use("issueRefund", {"amount": 120, "orderId": "A-1"}))
    grouped = queries.group_by_message(queries.checkpoints_of(chat))
    assert [[row.kind for row in rows] for rows in grouped.values()] == [["partial", "final"], ["final"], ["partial"]]
    assert [[row.ordinal for row in rows] for rows in grouped.values()] == [[0, 1], [0], [0]]
    assert [rows[-1].stopped for rows in grouped.values()] == [True, False, False]


@pytest.mark.django_db
def test_only_readers_of_the_chat_may_read_a_checkpoint():
    chat, _ = asked(people.alice())
    (row,) = queries.checkpoints_of(chat)
    for person in (chat.owner, people.bob(), people.carol()):
        assert queries.get_checkpoint_for(standing_of(person), row.pk)[2] == queries.parts_at(row)
    mallory = people.mallory()
    for pk in (row.pk, row.pk + 1):
        with pytest.raises(ChatNotFound):
            queries.get_checkpoint_for(standing_of(mallory), pk)
