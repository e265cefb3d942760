"""Streams as the Responses API and those that resemble it send them, read into events and blocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chats.agent import events
from chats.providers.openai.answer import Failed, Malformed
from chats.providers.openai.responses import stream
from chats.providers.openai.responses.stream import StreamedAnswer
from tests.support.responses import server as api
from tests.support.responses.server import added, answer, begins, call, done, ends, message, pieces, thought

PARIS = call("call_1", "getWeather", item_id="fc_1", city="Paris")
ROME = call("call_2", "getWeather", item_id="fc_2", city="Rome")
HELLO = message("Hello there", item_id="msg_1")
HM = thought("rs_1", "Hm.", "So.")
ITEMS = {"a message": HELLO, "a thought": HM, "a call": PARIS}


def read(raws, used=()):
    """Return the events that were shown, and the answer."""
    streamed = StreamedAnswer("gpt", {}, used)
    shown = [event for raw in raws for event in streamed.take(raw) if not isinstance(event, events.AnswerMetered)]
    return shown, streamed.finished()


def use(call_id, item_id, **value):
    return {"type": "tool_use", "id": call_id, "name": "getWeather", "input": value, "item": {"id": item_id}}


def test_texts_thoughts_and_calls_are_shown_in_their_order_and_kept_with_their_items():
    shown, finished = read(answer(HM, HELLO, PARIS, ROME, size=100))
    assert shown == [
        events.ReasoningStarted("thinking-0"),
        events.ReasoningDelta("thinking-0", "Hm."),
        events.ReasoningDelta("thinking-0", "\n\nSo."),
        events.ReasoningEnded("thinking-0"),
        events.TextStarted("text-1-0"),
        events.TextDelta("text-1-0", "Hello there"),
        events.TextEnded("text-1-0"),
        events.ToolInputStarted("call_1", "getWeather"),
        events.ToolInputDelta("call_1", PARIS["arguments"]),
        events.ToolInputReady("call_1", "getWeather", {"city": "Paris"}),
        events.ToolInputStarted("call_2", "getWeather"),
        events.ToolInputDelta("call_2", ROME["arguments"]),
        events.ToolInputReady("call_2", "getWeather", {"city": "Rome"}),
    ]
    assert (finished.stop_reason, finished.blocks) == (
        "tool_use",
        [
            {
                "type": "thinking",
                "thinking": "Hm.\n\nSo.",
                "item": {name: value for name, value in HM.items() if name != "type"},
            },
            {"type": "text", "text": "Hello there", "item": {"id": "msg_1", "status": "completed"}},
            use("call_1", "fc_1", city="Paris"),
            use("call_2", "fc_2", city="Rome"),
        ],
    )


@pytest.mark.parametrize("case", ITEMS)
def test_an_item_may_come_in_pieces_or_as_a_whole(case):
    item = ITEMS[case]
    whole = [done(0, item), ends(item)]
    late = [added(0, item), done(0, item), ends(item)]
    assert read(whole) == read(late) == read(answer(item, size=100))


def test_parts_of_a_message_are_texts_of_their_own():
    two = HELLO | {"content": [*HELLO["content"], {"type": "output_text", "text": "Bye", "annotations": []}]}
    shown, finished = read(answer(two))
    assert [event.id for event in shown if isinstance(event, events.TextStarted)] == ["text-0-0", "text-0-1"]
    assert [event.id for event in shown if isinstance(event, events.TextEnded)] == ["text-0-0", "text-0-1"]
    assert [block["text"] for block in finished.blocks] == ["Hello there", "Bye"]


def test_items_that_come_in_turns_are_kept_apart_and_in_order():
    one, two = list(pieces(0, PARIS)), list(pieces(1, ROME))
    mixed = [event for both in zip(one, two, strict=False) for event in both]
    raws = [added(1, ROME), added(0, PARIS), *mixed, *one[len(two) :], done(1, ROME), done(0, PARIS), ends()]
    assert [block["id"] for block in read(raws)[1].blocks] == ["call_1", "call_2"]


def test_an_id_that_was_used_before_is_replaced_in_all_events():
    shown, finished = read(answer(PARIS, call("call_1", "getWeather", item_id="fc_2", city="Rome")), used={"call_1"})
    ids = [block["id"] for block in finished.blocks]
    ready = [event.tool_call_id for event in shown if isinstance(event, events.ToolInputReady)]
    assert (len({*ids, "call_1"}), ready) == (3, ids)


ENDS = {
    "max_output_tokens": ("max_tokens", {}),
    "content_filter": ("refusal", {"type": "refusal"}),
    "of_next_year": ("unknown", {"reason": "of_next_year"}),
    # An incomplete item isn't made whole by its own status.
    "completed": ("unknown", {"reason": "incomplete"}),
}


@pytest.mark.parametrize("reason", ENDS)
def test_every_reason_for_an_incomplete_answer_has_a_stop_reason(reason):
    finished = read(answer(HELLO, reason=reason))[1]
    assert (finished.stop_reason, finished.stop_details) == ENDS[reason]


def test_a_call_that_was_cut_off_is_shown_and_cannot_run():
    begun = [added(0, PARIS), next(pieces(0, PARIS)), ends(reason="max_output_tokens")]
    shown, finished = read(begun)
    unreadable = {"unreadable": PARIS["arguments"][:7]}
    value = finished.blocks[0]["input"]
    assert (value | unreadable, value.keys()) == (value, {"unreadable", "why"})
    assert (finished.stop_reason, shown[-1]) == ("max_tokens", events.ToolInputReady("call_1", "getWeather", value))


def test_a_refusal_in_words_is_shown_and_named_and_no_call_beside_it_is_run():
    refused = message(refusal="I cannot help with that.", item_id="msg_1")
    for raws in (answer(refused, PARIS), [done(0, refused), done(1, PARIS), ends()]):
        finished = read(raws)[1]
        assert (finished.stop_reason, finished.stop_details) == ("refusal", {"type": "refusal"})
        assert finished.blocks[0]["text"] == "I cannot help with that."


def test_the_usage_tells_cached_and_thought_tokens_apart():
    used = api.usage(
        input_tokens=100,
        output_tokens=50,
        input_tokens_details={"cached_tokens": 60, "cache_write_tokens": 10},
        output_tokens_details={"reasoning_tokens": 40},
    )
    assert read(answer(HELLO, used=used))[1].usage == {
        "input_tokens": 30,
        "output_tokens": 50,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 10,
        "thinking_tokens": 40,
    }


def test_a_failed_answer_tells_its_usage_before_it_fails():
    streamed = StreamedAnswer("gpt", {})
    failed = api.fails("server_error", "boom")
    failed["response"]["usage"] = api.usage()
    told = streamed.take(failed)
    assert next(told) == events.AnswerMetered(
        "gpt", {"input_tokens": 10, "output_tokens": 5}, {"model": "gpt-5.5-2026-09-01", "message_id": "resp_1"}
    )
    with pytest.raises(Failed) as failure:
        next(told)
    assert (failure.value.code, failure.value.message, streamed.complete) == ("server_error", "boom", False)


HARMLESS = [
    *begins(),
    {"type": "keepalive"},
    {"type": "response.of_next_year", "output_index": "x"},
    {"type": "response.output_text.annotation.added", "output_index": 0},
    added(7, {"id": "ws_1", "type": "web_search_call", "status": "in_progress"}),
    {"type": "response.web_search_call.searching", "output_index": 7},
    done(7, {"id": "ws_1", "type": "web_search_call", "status": "completed"}),
    added(8, {"id": "mcp_1", "type": "mcp_call"}),
]


def test_events_and_items_that_are_new_are_nothing():
    assert read([*HARMLESS, *answer(HELLO)]) == read(answer(HELLO))


def test_what_comes_after_the_end_is_no_part_of_the_answer():
    late = [added(5, ROME), done(6, HELLO), ends(reason="content_filter"), api.error("server_error"), None]
    assert read([*answer(HELLO, PARIS), *late]) == read(answer(HELLO, PARIS))


def piece(index=0, kind="output_text", delta="x", **at):
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": delta, "content_index": 0, **at}


OPEN = added(0, HELLO)
OTHER = call("call_9", "getWeather", item_id="fc_1", city="Paris")
MALFORMED = {
    "nothing": [None],
    "a list": [[]],
    "no type": [{}],
    "no item": [{"type": "response.output_item.added", "output_index": 0}],
    "no index": [{"type": "response.output_item.added", "item": HELLO}],
    "an item of no type": [added(0, {"id": "x"})],
    "an item at the place of another": [OPEN, added(0, PARIS)],
    "a call without an id": [added(0, PARIS | {"call_id": ""})],
    "a call without a name": [added(0, PARIS | {"name": None})],
    "a piece of no item": [piece()],
    "a piece of an item that is done": [OPEN, done(0, message(item_id="msg_1")), piece()],
    "a piece of another kind": [OPEN, piece(kind="function_call_arguments")],
    "a piece that is no text": [OPEN, piece(delta=5)],
    "a piece without a place": [OPEN, piece(content_index=None)],
    "a piece that is not in the whole": [OPEN, piece(), done(0, HELLO)],
    "a piece of a part that the whole has not": [OPEN, *pieces(0, HELLO), piece(content_index=3), done(0, HELLO)],
    "other arguments in the end": [added(0, PARIS), *pieces(0, PARIS), done(0, PARIS | {"arguments": "{}"})],
    "another call in the end": [added(0, PARIS), done(0, OTHER)],
    "another kind in the end": [OPEN, done(0, PARIS)],
    "an item that is done twice": [done(0, HELLO), done(0, HELLO)],
    "an item without an id": [done(0, HELLO | {"id": None})],
    "an item with an endless id": [done(0, HELLO | {"id": "x" * 300})],
    "a thought with a number in it": [done(0, HM | {"encrypted_content": 5})],
    "a thought of no parts": [done(0, HM | {"summary": 5})],
    "a part that is no part": [done(0, HELLO | {"content": [None]})],
    "a part without its text": [done(0, HELLO | {"content": [{"type": "output_text"}]})],
    "arguments that are no text": [done(0, PARIS | {"arguments": {}})],
    "an end with an open message": [OPEN, ends()],
    "an end with an open call": [added(0, PARIS), ends()],
    "an end of another status": [{"type": "response.completed", "response": {"status": "incomplete"}}],
    "an end without an answer": [{"type": "response.completed"}],
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_stream_that_does_not_keep_to_the_protocol_is_malformed(case):
    with pytest.raises(Malformed):
        read(MALFORMED[case])


def test_an_answer_is_bounded(monkeypatch):
    monkeypatch.setattr(stream, "MAX_ITEMS", 2)
    monkeypatch.setattr(stream, "MAX_SEALED", 20)
    short = [thought(f"rs_{number}", sealed="x" * 10) for number in range(3)]
    assert len(read(answer(*short[:2]))[1].blocks) == 2
    for items in (short, [thought("rs_1", sealed="x" * 21)], [short[0], thought("rs_2", sealed="x" * 11)]):
        with pytest.raises(Malformed):
            read(answer(*items))


def test_a_thought_that_no_database_can_store_is_shown_and_not_kept():
    (block,) = read(answer(thought("rs_1", "Hm.\0")))[1].blocks
    assert block == {"type": "thinking", "thinking": "Hm.\0"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["id", "type", "role", "content", "summary", "encrypted_content", "arguments", "call_id", "name", "phase", "status"]
)
CHANGED = st.builds(
    lambda item, changes: item | changes, st.sampled_from(list(ITEMS.values())), st.dictionaries(NAMES, JSON)
)
RAWS = st.one_of(
    st.builds(added, st.integers(0, 2), CHANGED),
    st.builds(done, st.integers(0, 2), CHANGED),
    st.builds(piece, st.integers(0, 2), st.sampled_from(["output_text", "function_call_arguments", "refusal"])),
    st.builds(lambda name, value: ends() | {name: value}, st.sampled_from(["type", "response"]), JSON),
    st.builds(
        lambda changes: {"type": "response.completed", "response": changes},
        st.dictionaries(
            st.sampled_from(["usage", "error", "id", "incomplete_details", "input_transformations", "status"]), JSON
        ),
    ),
    JSON,
)


@given(st.lists(RAWS, max_size=6))
def test_no_stream_breaks_the_reader_and_every_call_is_shown_once(raws):
    try:
        shown, finished = read([*raws, ends(reason="max_output_tokens")])
    except (Malformed, Failed):
        return
    calls = [block["id"] for block in finished.blocks if block["type"] == "tool_use"]
    ready = [event.tool_call_id for event in shown if isinstance(event, events.ToolInputReady)]
    assert (sorted(ready), len(set(calls)), all(calls)) == (sorted(calls), len(calls), True)
    texts = sorted(block["text"] for block in finished.blocks if block["type"] == "text")
    by_id = {}
    for event in shown:
        if isinstance(event, events.TextDelta):
            by_id[event.id] = by_id.get(event.id, "") + event.text
    assert texts == sorted(by_id.values())
