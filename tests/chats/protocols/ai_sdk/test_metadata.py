"""The metadata of users' messages and of answers, and calls that are left open by an error."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from approvals.db.canonical_json import utc
from chats.actions.ending import NOT_RUN
from chats.models import Message, Turn
from chats.protocols.ai_sdk.body import MAX_METADATA_BYTES
from tests.support import people
from tests.support.anthropic_server import START, Close, Reply, block_events, says, text, tool_use
from tests.support.chats.claude import answering
from tests.support.chats.wire_rules import problems
from tests.support.machines import Answer, Client, machine, user_message

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client():
    return Client(machine(people.bob()))


def test_the_metadata_of_a_message_is_kept_and_returned(client):
    sent = {"sentAt": 1_790_000_000, "tags": ["a", None], "ünï": {"x": 1.5}}
    client.messages = [user_message("hello", "u1") | {"metadata": sent}]
    assert client.post().status == 200
    assert client.read()["messages"][0]["metadata"] == sent
    client.messages = [user_message("weather", "u1") | {"metadata": {"edited": True}}]
    assert client.post(messageId="u1").status == 200
    assert client.read()["messages"][0]["metadata"] == {"edited": True}


@pytest.mark.parametrize("value", [{"x": "y" * MAX_METADATA_BYTES}, {"x": "a\x00b"}])
def test_metadata_that_cannot_be_kept_is_refused(client, value):
    client.messages = [user_message("hello", "u1") | {"metadata": value}]
    answer = client.post()
    assert (answer.status, answer.code, Message.objects.count()) == (422, "invalid", 0)


def told(answer: Answer) -> list[dict[str, Any]]:
    """The metadata in a stream."""
    return [chunk["messageMetadata"] for chunk in answer.chunks if chunk["type"] == "message-metadata"]


def test_an_answer_is_sent_and_stored_with_its_model_tokens_and_times(client, settings, monkeypatch):
    with answering(settings, monkeypatch) as claude:
        claude.will(says(tool_use("toolu_1", "getWeather", city="Rome"), stop_reason="tool_use"))
        claude.will(says(text("Sunny."), cache_read_input_tokens=4))
        answer = client.say("weather?")
    turn = Turn.objects.get()
    (metadata,) = told(answer)
    assert client.last["metadata"] == metadata
    finished = datetime.fromisoformat(metadata.pop("finishedAt"))
    assert turn.created_at < finished <= turn.ended_at
    assert metadata == {
        "model": turn.steps.last().answered_by.get("model") or turn.steps.last().model,
        "usage": {"inputTokens": 24, "outputTokens": 10, "cachedInputTokens": 4, "reasoningTokens": 0},
        "createdAt": utc(turn.created_at),
    }


def test_what_a_client_says_is_the_metadata_of_an_answer_is_ignored(client):
    forged = {"model": "mine", "usage": {"inputTokens": -1}, "more": True}
    assert told(client.say("ask")) == []
    client.last["metadata"] = forged
    (first,) = told(client.answer("Express"))
    assert (first["model"], client.read()["messages"][-1]["metadata"]) == ("scripted", first)
    client.last["metadata"] = forged
    client.say("hello")
    assert client.messages[1]["metadata"] == first


def test_a_turn_that_is_stopped_while_it_waits_keeps_what_it_used(client):
    client.say("ask")
    client.machine.post(f"{client.address}/stop", None)
    client.read()
    assert (client.last["metadata"]["model"], client.last["metadata"]["usage"]["inputTokens"] > 0) == ("scripted", True)


def test_a_call_that_was_streamed_before_an_error_is_closed_for_clients(client, settings, monkeypatch):
    with answering(settings, monkeypatch) as claude:
        whole = [*block_events(0, text("A look.")), *block_events(1, tool_use("toolu_1", "getWeather", city="Rome"))]
        claude.will(
            Reply(
                items=[START, *whole, *block_events(2, tool_use("toolu_2", "getWeather", city="Ro"))[:2], Close.EARLY]
            )
        )
        client.messages = [user_message("weather?", "u1")]
        answer = client.post()
    assert problems(answer.chunks) == []
    ended = [chunk for chunk in answer.chunks if chunk["type"] == "tool-output-error"]
    assert [(chunk["toolCallId"], chunk["errorText"]) for chunk in ended] == [
        ("toolu_1", NOT_RUN),
        ("toolu_2", NOT_RUN),
    ]
    assert answer.types[-1] == "error"
    assert [part["type"] for part in client.read()["messages"][-1]["parts"]] == ["step-start", "text", "data-remark"]
