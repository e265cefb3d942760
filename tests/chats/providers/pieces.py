"""Pieces of calls as Chat Completions stream them, and the events read from a stream."""

from __future__ import annotations

from chats.agent import events
from chats.providers.openai.chat_completions.stream import StreamedAnswer
from tests.support.openai_server import chunk

GEMINI = "gemini-3"
PAY = '{"amount":5,"to":"bob"}'
CALLED = chunk({}, "tool_calls")


def piece(call_id="call_1", name="pay", arguments=PAY, index=0, **more):
    """A piece of a call; None leaves a member out."""
    function = {"name": name, "arguments": arguments}
    made = {"index": index, "id": call_id, "type": "function", "function": function, **more}
    return {key: value for key, value in made.items() if value is not None}


def calls(*pieces):
    return chunk({"tool_calls": list(pieces)})


def read(raws, model=GEMINI, used=()):
    """Return the events that were shown, and the blocks of the answer."""
    streamed = StreamedAnswer(model, {}, used)
    shown = [event for raw in raws for event in streamed.take(raw) if not isinstance(event, events.AnswerMetered)]
    return shown, streamed.finished().blocks
