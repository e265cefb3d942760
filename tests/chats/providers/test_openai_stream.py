"""Streams as OpenAI's server and those that resemble it send them, read into events and blocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chats.agent import events
from chats.providers.openai.answer import Malformed
from chats.providers.openai.chat_completions.stream import StreamedAnswer
from tests.support.openai_server import answer, call, chunk, usage

PARIS, ROME = call("call_1", "getWeather", city="Paris"), call("call_2", "getWeather", city="Rome")


def read(raws, names=(), used=()):
    """Return the events that were shown, and the answer."""
    streamed = StreamedAnswer("gpt", {name: name for name in names}, used)
    shown = [event for raw in raws for event in streamed.take(raw) if not isinstance(event, events.AnswerMetered)]
    return shown, streamed.finished()


def use(call_id, **value):
    return {"type": "tool_use", "id": call_id, "name": "getWeather", "input": value}


def piece(index=None, call_id=None, name=None, arguments=None):
    """A piece of a call; servers leave out any field."""
    function = {"name": name, "arguments": arguments}
    made = {"index": index, "id": call_id, "function": {key: it for key, it in function.items() if it is not None}}
    return chunk({"tool_calls": [{key: it for key, it in made.items() if it is not None}]})


END = chunk({}, "tool_calls")
BOTH = [use("call_1", city="Paris"), use("call_2", city="Rome")]
P1, P2 = '{"city": ', '"Paris"}'
ROMAN = '{"city": "Rome"}'
ODD_CALLS = {
    "by the book": (answer("", PARIS, ROME), BOTH),
    "in turns": (
        [
            piece(0, "call_1", "getWeather", P1),
            piece(1, "call_2", "getWeather"),
            piece(0, arguments=P2),
            piece(1, arguments=ROMAN),
            END,
        ],
        BOTH,
    ),
    "without an index": (
        [
            piece(None, "call_1", "getWeather", P1),
            piece(None, None, None, P2),
            piece(None, "call_2", "getWeather", ROMAN),
            END,
        ],
        BOTH,
    ),
    "all at index 0": (
        [piece(0, "call_1", "getWeather", P1 + P2), piece(0, "call_2", "getWeather", ROMAN), END],
        BOTH,
    ),
    "id and name in every piece": (
        [
            piece(0, "call_1", "getWeather", P1),
            piece(0, "call_1", "getWeather", P2),
            piece(1, "call_2", "getWeather", ROMAN),
            END,
        ],
        BOTH,
    ),
    "the id comes late": ([piece(0, "", "getWeather", P1), piece(0, "call_1", None, P2), END], BOTH[:1]),
    "no input": ([piece(0, "call_1", "getWeather", ""), END], [use("call_1")]),
    "cut off": (
        [piece(0, "call_1", "getWeather", P1), chunk({}, "length")],
        [use("call_1", unreadable=P1)],
    ),
    "no object": (
        [piece(0, "call_1", "getWeather", "[1]"), END],
        [use("call_1", unreadable="[1]")],
    ),
}


@pytest.mark.parametrize("case", ODD_CALLS)
def test_calls_are_put_together_from_their_pieces(case):
    raws, expected = ODD_CALLS[case]
    shown, finished = read(raws)
    for block in finished.blocks:
        block["input"].pop("why", None)
    assert finished.blocks == expected
    started = [event.tool_call_id for event in shown if isinstance(event, events.ToolInputStarted)]
    ready = [event.tool_call_id for event in shown if isinstance(event, events.ToolInputReady)]
    assert (started, ready) == ([block["id"] for block in expected],) * 2


def test_an_id_that_was_used_before_or_is_missing_is_replaced():
    raws = [piece(0, "call_0", "getWeather", "{}"), piece(1, "", "getWeather", "{}"), END]
    ids = [block["id"] for block in read(raws, used={"call_0"})[1].blocks]
    assert (len({*ids, "call_0"}), [call_id.startswith("call_") for call_id in ids]) == (3, [True, True])


def test_texts_thoughts_and_calls_are_shown_in_their_order():
    raws = [*answer("Let me see.", PARIS, thoughts="Hm.", size=100), usage()]
    shown, finished = read(raws)
    assert [type(event).__name__ for event in shown] == [
        "ReasoningStarted",
        "ReasoningDelta",
        "ReasoningEnded",
        "TextStarted",
        "TextDelta",
        "TextEnded",
        "ToolInputStarted",
        "ToolInputDelta",
        "ToolInputReady",
    ]
    assert [block["type"] for block in finished.blocks] == ["thinking", "text", "tool_use"]


def test_thoughts_that_are_sent_under_two_names_are_shown_once():
    raws = [chunk({"reasoning": "Hm.", "reasoning_content": "Hm."}), *answer("So.")]
    assert read(raws)[1].blocks[0] == {"type": "thinking", "thinking": "Hm.", "field": "reasoning_content"}


ENDS = {
    "stop": ({}, "end_turn", {}),
    "length": ({}, "max_tokens", {}),
    "content_filter": ({}, "refusal", {"type": "refusal"}),
    "function_call": ({}, "tool_use", {}),
    "of_next_year": ({}, "unknown", {"reason": "of_next_year"}),
}


@pytest.mark.parametrize("reason", ENDS)
def test_every_finish_reason_has_a_stop_reason(reason):
    _, stop_reason, details = ENDS[reason]
    finished = read(answer("So far.", finish_reason=reason))[1]
    assert (finished.stop_reason, finished.stop_details) == (stop_reason, details)


def test_a_refusal_in_words_is_shown_and_named():
    finished = read(answer(refusal="I cannot help with that."))[1]
    assert (finished.stop_reason, finished.stop_details) == ("refusal", {"type": "refusal"})
    assert finished.blocks == [{"type": "text", "text": "I cannot help with that."}]


def test_what_a_filter_found_is_kept():
    found = {"violence": {"filtered": True}, "hate": {"filtered": False}, "self_harm": {"filtered": True}}
    raws = [*answer("So")[:-1], chunk({}, "content_filter", content_filter_results=found)]
    assert read(raws)[1].stop_details == {"type": "refusal", "category": "violence, self_harm"}


def test_a_stop_after_calls_means_that_they_are_to_be_run():
    assert read(answer("", PARIS, finish_reason="stop"))[1].stop_reason == "tool_use"


def test_the_usage_tells_cached_and_thought_tokens_apart():
    asked = {"cached_tokens": 60, "cache_write_tokens": 10, "audio_tokens": None}
    given = usage(
        prompt_tokens=100,
        completion_tokens=50,
        prompt_tokens_details=asked,
        completion_tokens_details={"reasoning_tokens": 40},
    )
    assert read([*answer("So."), given])[1].usage == {
        "input_tokens": 30,
        "output_tokens": 50,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 10,
        "thinking_tokens": 40,
    }


HARMLESS = [
    {},
    {"choices": None},
    {"choices": []},
    chunk() | {"prompt_filter_results": []},
    chunk() | {"choices": [{"index": 0, "delta": None, "finish_reason": None}]},
    chunk({"role": "assistant", "content": None, "tool_calls": None, "audio": None, "new_of_next_year": None}),
    chunk({"content": []}),
    chunk({"content": [""]}),
    chunk({"tool_calls": [{"index": 0, "function": None}]}) | {"choices": []},
    chunk() | {"usage": None},
    chunk() | {"usage": {"prompt_tokens": None, "prompt_tokens_details": None}},
]


def test_empty_and_null_deltas_are_nothing():
    shown, finished = read([*HARMLESS, *answer("Hi", size=9)])
    assert (shown, finished.blocks) == (read(answer("Hi", size=9))[0], [{"type": "text", "text": "Hi"}])


MALFORMED = (
    [None, [], "text", 5, {"choices": 5}, {"choices": [None]}, {"choices": [{"delta": "text"}]}]
    + [chunk({"content": 5})]
    + [chunk({"tool_calls": wrong}) for wrong in (5, [None], [{"function": "text"}], [{"function": {"arguments": {}}}])]
)


def test_an_event_of_another_shape_is_malformed():
    for raw in MALFORMED:
        with pytest.raises(Malformed):
            read([raw])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "content": JSON,
        "reasoning": JSON,
        "tool_calls": JSON,
        "refusal": JSON,
        "extra_content": JSON,
        "new": JSON,
    },
)
PIECES = st.fixed_dictionaries(
    {},
    optional={
        "index": st.none() | st.integers(0, 2),
        "id": st.none() | st.sampled_from(["", "a", "b"]),
        "function": st.fixed_dictionaries({}, optional={"name": JSON, "arguments": st.none() | st.text(max_size=5)}),
    },
)


@given(st.lists(DELTAS | PIECES.map(lambda made: {"tool_calls": [made]}), max_size=6))
def test_no_stream_breaks_the_reader_and_every_call_is_shown_once(deltas):
    try:
        shown, finished = read([*(chunk(delta) for delta in deltas), END])
    except Malformed:
        return
    calls = [block["id"] for block in finished.blocks if block["type"] == "tool_use"]
    ready = [event.tool_call_id for event in shown if isinstance(event, events.ToolInputReady)]
    assert (ready, len(set(calls)), all(calls)) == (calls, len(calls), True)
    texts = "".join(block["text"] for block in finished.blocks if block["type"] == "text")
    assert texts == "".join(event.text for event in shown if isinstance(event, events.TextDelta))


def test_what_comes_after_the_end_is_no_part_of_the_answer_but_its_usage_is_counted():
    late = [chunk({"content": "More"}), piece(1, "", "getWeather", ROMAN), chunk({"reasoning": "Hm"}, "stop"), usage()]
    before, ended = read(answer("Hi", PARIS))
    shown, finished = read([*answer("Hi", PARIS), *late])
    assert (shown, finished.blocks, finished.stop_reason) == (before, ended.blocks, "tool_use")
    assert finished.usage == {"input_tokens": 10, "output_tokens": 5}
