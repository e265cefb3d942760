"""A character whose halves come in two pieces is one character, while it streams and afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.db.canonical_json import clean_text
from chats.actions.transitions import step_of
from chats.agent import events
from chats.agent.agent import Agent
from chats.agent.loop import stream_step
from chats.agent.provider import ModelRequest
from chats.providers.anthropic.stream import StreamedAnswer as ClaudeAnswer
from chats.providers.openai.chat_completions.stream import StreamedAnswer as ChatCompletionsAnswer
from chats.providers.openai.responses.stream import StreamedAnswer as ResponsesAnswer
from tests.support.openai_server import chunk
from tests.support.responses import server as api

SMILE = "\U0001f600"
FIRST, SECOND = "\ud83d", "\ude00"
PAY = '{"memo": "\ud83d', '\ude00"}'


class Played:
    """A provider whose model gives these raw events."""

    name = "played"

    def __init__(self, answer, raws):
        self.answer, self.raws = answer, raws

    async def stream(self, request: ModelRequest) -> AsyncGenerator[events.Event, None]:
        for raw in self.raws:
            for event in self.answer.take(raw):
                yield event
        yield self.answer.finished()


def play(answer, raws):
    """Return the events of a step, and the blocks that are stored."""

    async def collect():
        return [event async for event in stream_step(Agent(name="clerk"), Played(answer, raws), [], 0)]

    *shown, finished = asyncio.run(collect())
    return shown, step_of(finished, [], "played").blocks


def texts(shown, kind):
    return [event.text for event in shown if isinstance(event, kind)]


def chat_completions(*pieces, member="content"):
    return ChatCompletionsAnswer("gpt", {}), [*(chunk({member: piece}) for piece in pieces), chunk({}, "stop")]


def claude(*pieces, kind="text"):
    block = {"type": kind, kind: ""} | ({"signature": ""} if kind == "thinking" else {})
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": f"{kind}_delta", kind: piece}} for piece in pieces
    ]
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    return ClaudeAnswer("claude"), [start, *deltas, {"type": "content_block_stop", "index": 0}, end]


STREAMS = {
    "chat completions": (chat_completions, {}, events.TextDelta, "text"),
    "thoughts of chat completions": (
        chat_completions,
        {"member": "reasoning_content"},
        events.ReasoningDelta,
        "thinking",
    ),
    "claude": (claude, {}, events.TextDelta, "text"),
    "thoughts of claude": (claude, {"kind": "thinking"}, events.ReasoningDelta, "thinking"),
}


@pytest.mark.parametrize("case", STREAMS)
def test_halves_in_two_pieces_are_one_character(case):
    stream, more, kind, name = STREAMS[case]
    shown, blocks = play(*stream(f"Paid {FIRST}", f"{SECOND} thanks", **more))
    assert (texts(shown, kind), blocks[0][name]) == (["Paid ", f"{SMILE} thanks"], f"Paid {SMILE} thanks")


CUT = {
    "a first half in the end": ([f"a{FIRST}"], "a\ufffd"),
    "a first half before a letter": ([FIRST, "b"], "\ufffdb"),
    "a second half": (["a", f"{SECOND}b"], "a\ufffdb"),
    "two first halves": ([FIRST, FIRST, SECOND], f"\ufffd{SMILE}"),
    "the wrong way round": ([SECOND, FIRST], "\ufffd\ufffd"),
}


@pytest.mark.parametrize("case", CUT)
def test_a_half_that_stays_alone_becomes_one_sign(case):
    pieces, expected = CUT[case]
    shown, blocks = play(*chat_completions(*pieces))
    assert ("".join(texts(shown, events.TextDelta)), blocks[0]["text"]) == (expected, expected)


def test_a_call_has_the_whole_character_in_its_input():
    pieces = [{"index": 0, "id": "call_1", "function": {"name": "pay", "arguments": text}} for text in PAY]
    raws = [*(chunk({"tool_calls": [piece]}) for piece in pieces), chunk({}, "tool_calls")]
    shown, blocks = play(ChatCompletionsAnswer("gpt", {}), raws)
    assert blocks[0]["input"] == {"memo": SMILE}
    assert "".join(texts(shown, events.ToolInputDelta)) == f'{{"memo": "{SMILE}"}}'


def test_a_call_of_claude_has_the_whole_character_in_its_input():
    block = {"type": "tool_use", "id": "toolu_1", "name": "pay", "input": {}}
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}}
        for text in PAY
    ]
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    _, blocks = play(ClaudeAnswer("claude"), [start, *deltas, {"type": "content_block_stop", "index": 0}, end])
    assert blocks[0]["input"] == {"memo": SMILE}


def test_texts_thoughts_and_calls_of_responses_have_whole_characters():
    cut = f"Paid {FIRST}{SECOND} thanks"
    items = [api.thought("rs_1", cut), api.message(cut), api.call("call_1", "pay") | {"arguments": "".join(PAY)}]
    raws = api.answer(items[0], items[1], size=6)[:-1]
    raws += [api.added(2, items[2]), *api.pieces(2, items[2], len(PAY[0])), api.done(2, items[2]), api.ends(*items)]
    shown, blocks = play(ResponsesAnswer("gpt", {}), raws)
    whole = f"Paid {SMILE} thanks"
    streamed = [
        "".join(texts(shown, kind)) for kind in (events.ReasoningDelta, events.TextDelta, events.ToolInputDelta)
    ]
    assert streamed == [whole, whole, f'{{"memo": "{SMILE}"}}']
    assert (blocks[0]["thinking"], blocks[1]["text"], blocks[2]["input"]) == (whole, whole, {"memo": SMILE})


@given(st.lists(st.text(st.sampled_from("ab\ud83d\ude00"), max_size=4), max_size=6))
def test_streamed_and_stored_texts_are_the_same_however_they_are_cut(pieces):
    shown, blocks = play(*chat_completions(*pieces))
    whole = clean_text("".join(pieces))
    assert "".join(texts(shown, events.TextDelta)) == whole
    assert [block["text"] for block in blocks] == ([whole] if whole else [])
