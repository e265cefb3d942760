"""An answer with more than is allowed: too many calls, from every provider, or parts without end."""

from __future__ import annotations

import pytest

from chats.agent import events, loop
from chats.agent.loop import MAX_ANSWERED_CALLS, MAX_CALLS, TOO_MANY_CALLS
from chats.agent.provider import ProviderError
from chats.models import ToolCall
from chats.states import CallState, TurnState
from tests.chats.providers.test_every_provider import HELLO, chat, clerk, say, stand
from tests.support.chats.turns import chunks, parts

__all__ = ["chat", "stand"]


@pytest.mark.django_db(transaction=True)
def test_calls_beyond_the_limit_of_one_answer_are_answered_with_an_error(stand, chat, settings, monkeypatch):
    stand.configure(settings, monkeypatch)
    many = [(f"call_{number}", "getWeather", {"city": f"Rome {number}"}) for number in range(MAX_CALLS + 2)]
    stand.server.will(stand.says("", *many), stand.says("Enough."))
    turn = say(chat)
    assert (turn.state, parts(turn)[-1]["text"]) == (TurnState.COMPLETED, "Enough.")
    told = [words for kind, words in stand.conversation() if kind == "result"]
    assert ["city" in words for words in told] == [True] * MAX_CALLS + [False] * 2
    assert [words.removeprefix("(This call failed.) ") for words in told[MAX_CALLS:]] == [TOO_MANY_CALLS] * 2
    failed = ToolCall.objects.filter(state=CallState.FAILED).values_list("tool_call_id", "attempt")
    assert list(failed) == [("call_50", 0), ("call_51", 0)]
    assert [chunk["tool_call_id"] for chunk in chunks(turn, "ToolFailed")] == ["call_50", "call_51"]


@pytest.mark.django_db(transaction=True)
def test_an_answer_with_far_too_many_calls_is_refused(stand, chat, settings, monkeypatch):
    stand.configure(settings, monkeypatch)
    many = [(f"call_{number}", "getWeather", {"city": "Rome"}) for number in range(MAX_ANSWERED_CALLS + 1)]
    stand.server.will(stand.says("", *many))
    turn = say(chat)
    words = "The model made 501 tool calls at once, but only 500 are allowed."
    assert (turn.state, turn.error, turn.tool_calls.count()) == (TurnState.FAILED, words, 0)


class Babbler:
    """A custom provider that starts one text after the other."""

    name = "babbler"

    async def stream(self, request):
        while True:
            yield events.TextStarted("text-0")


async def test_an_endless_number_of_empty_parts_is_cut_off():
    with pytest.raises(ProviderError, match="longer than 400,000 characters"):
        async for _ in loop.stream_step(clerk, Babbler(), HELLO, 0):
            pass
