"""An AI SDK client's data on the end of an answer, and while a model is silent."""

from __future__ import annotations

import pytest

from chats.agent import events
from chats.protocols.ai_sdk.encode import MessageStream
from tests.support import people
from tests.support.anthropic_server import START, Close, Reply, block_events, end, text
from tests.support.chats import claude as support
from tests.support.chats.claude import ends
from tests.support.chats.wire_rules import problems
from tests.support.machines import Client, machine

pytestmark = pytest.mark.django_db(transaction=True)

LENGTH = "The answer was cut off because it reached its maximum length. Send “Continue” to get the rest."
BROKEN_OFF = "The answer was interrupted by an error. Send “Continue” to get the rest."
REFUSED = "The model refused to answer. The message and its answer are not sent to the model again. Rephrase it."


@pytest.fixture
def claude(settings, monkeypatch):
    with support.answering(settings, monkeypatch) as server:
        yield server


@pytest.fixture
def client():
    return Client(machine(people.bob()))


@pytest.mark.parametrize(
    ("stop_reason", "finish_reason", "words"),
    [("max_tokens", "length", LENGTH), ("refusal", "content-filter", REFUSED)],
)
def test_a_stream_tells_how_the_answer_ended_and_the_message_keeps_it(
    claude, client, stop_reason, finish_reason, words
):
    claude.will(ends(text("So far"), stop_reason=stop_reason))
    chunks = client.say("Hello").chunks
    remark = {"type": "data-remark", "data": {"code": stop_reason, "text": words}}
    answer = client.read()["messages"][-1]
    metadata = {"type": "message-metadata", "messageMetadata": answer["metadata"]}
    assert (problems(chunks), chunks[-4:]) == (
        [],
        [remark, {"type": "finish-step"}, metadata, {"type": "finish", "finishReason": finish_reason}],
    )
    assert answer["parts"] == [
        {"type": "step-start"},
        {"type": "text", "text": "So far", "state": "done"},
        remark,
    ]


def test_a_text_that_is_broken_off_stays_in_the_message(claude, client):
    claude.will(Reply(items=[START, *block_events(0, text("Half an"))[:-1], Close.EARLY]))
    chunks = client.say("Hello").chunks
    remark = {"type": "data-remark", "data": {"code": "broken_off", "text": BROKEN_OFF}}
    assert (problems(chunks), chunks[-1]["type"], remark in chunks) == ([], "error", True)
    kept = [{"type": "text", "text": "Half an", "state": "done"}, remark]
    assert client.read()["messages"][-1]["parts"][1:] == kept


def test_a_silent_model_is_told_and_not_kept_in_the_message():
    told = {"code": "silent", "attempt": 2, "attempts": 4, "seconds": 8}
    words = "The model has not answered yet (try 2 of 4)."
    assert MessageStream("m1").encode(events.ModelSilent(2, 4, 8)) == [
        {"type": "data-status", "data": told | {"text": words}, "transient": True}
    ]


def test_a_citation_is_streamed_and_kept_as_a_source(claude, client):
    cited = {"type": "web_search_result_location", "url": "https://a.example/", "title": "A", "cited_text": "…"}
    start, *deltas, stop = block_events(0, text("Bamboo."))
    citation = {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": cited}}
    claude.will(Reply(items=[START, start, *deltas, citation, stop, *end()]))
    chunks = client.say("Hello").chunks
    source = {"type": "source-url", "sourceId": "https://a.example/", "url": "https://a.example/", "title": "A"}
    assert (problems(chunks), chunks[-4]) == ([], source)
    kept = [{"type": "text", "text": "Bamboo.", "state": "done"}, source]
    assert client.read()["messages"][-1]["parts"][1:] == kept
