"""Calls of servers that give them no index and no id, or all the same one, stay apart; a call that is said twice is one call."""

from __future__ import annotations

import pytest

from chats.agent import events
from tests.chats.providers.pieces import CALLED, calls, piece, read

ANOTHER = '{"amount":7,"to":"eve"}'
TWO = [{"amount": 5, "to": "bob"}, {"amount": 7, "to": "eve"}]
#: Events with the pieces of two calls, of which some servers tell nothing apart.
TWINS = {
    "no index and no id, at once": [[piece(None, index=None), piece(None, arguments=ANOTHER, index=None)]],
    "no index and no id": [[piece(None, index=None)], [piece(None, arguments=ANOTHER, index=None)]],
    "no index and no id, in pieces": [
        [piece(None, arguments="", index=None)],
        [piece(None, None, '{"amount":5,', index=None)],
        [piece(None, None, '"to":"bob"}', index=None)],
        [piece(None, arguments="", index=None)],
        [piece(None, None, ANOTHER, index=None)],
    ],
    "one id, without an index": [[piece(index=None)], [piece(arguments=ANOTHER, index=None)]],
    "one id, without an index, at once": [[piece(index=None), piece(arguments=ANOTHER, index=None)]],
    "one id, by index": [[piece(), piece(arguments=ANOTHER, index=1)]],
    "one id and one index": [[piece()], [piece(arguments=ANOTHER)]],
    "one index, no id": [[piece(None)], [piece(None, arguments=ANOTHER)]],
    "an empty id": [[piece("", index=None)], [piece("", arguments=ANOTHER, index=None)]],
}


@pytest.mark.parametrize("case", TWINS)
def test_two_calls_stay_two(case):
    shown, blocks = read([*(calls(*pieces) for pieces in TWINS[case]), CALLED])
    assert [block["input"] for block in blocks] == TWO
    assert len({block["id"] for block in blocks}) == 2
    ready = [event.input for event in shown if isinstance(event, events.ToolInputReady)]
    assert ready == TWO


SINGLE = {
    "the whole call once more": [[piece()], [piece()]],
    "its name once more": [[piece()], [piece(arguments="")]],
    "its name without an id": [[piece()], [piece(None, arguments="")]],
    "its name in each piece of one event": [[piece(arguments=""), piece()]],
}


@pytest.mark.parametrize("case", SINGLE)
def test_a_call_that_is_said_twice_is_one_call(case):
    blocks = read([*(calls(*pieces) for pieces in SINGLE[case]), CALLED])[1]
    assert [block["input"] for block in blocks] == TWO[:1]


def test_equal_calls_at_once_without_an_index_are_two():
    blocks = read([calls(piece(index=None), piece(index=None)), CALLED])[1]
    assert [block["input"] for block in blocks] == [TWO[0], TWO[0]]


def test_a_second_tool_without_index_and_id_is_a_second_call():
    blocks = read([calls(piece(None, "pay", "", None)), calls(piece(None, "refund", "", None)), CALLED])[1]
    assert [block["name"] for block in blocks] == ["pay", "refund"]
