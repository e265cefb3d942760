"""The metadata that a client keeps with a user's message, and calls that are left open by an error."""

from __future__ import annotations

import pytest

from chats.actions.ending import NOT_RUN
from chats.models import Message
from chats.protocols.ai_sdk.body import MAX_METADATA_BYTES
from tests.support import people
from tests.support.anthropic_server import START, Close, Reply, block_events, text, tool_use
from tests.support.chats.claude import answering
from tests.support.chats.wire_rules import problems
from tests.support.machines import Client, machine, user_message

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client():
    return Client(machine(people.bob()))


def test_the_metadata_of_a_message_is_kept_and_returned(client):
    sent = {"sentAt": 1_790_000_000, "tags": ["a", None], "ünï": {"x": 1.5}}
    client.messages = [user_message("hello", "u1") | {"metadata": sent}]
    assert client.post().status == 200
    first, second = client.read()["messages"]
    assert (first["metadata"], "metadata" in second) == (sent, False)
    client.messages = [user_message("weather", "u1") | {"metadata": {"edited": True}}]
    assert client.post(messageId="u1").status == 200
    assert client.read()["messages"][0]["metadata"] == {"edited": True}


@pytest.mark.parametrize("value", [{"x": "y" * MAX_METADATA_BYTES}, {"x": "a\x00b"}])
def test_metadata_that_cannot_be_kept_is_refused(client, value):
    client.messages = [user_message("hello", "u1") | {"metadata": value}]
    answer = client.post()
    assert (answer.status, answer.code, Message.objects.count()) == (422, "invalid", 0)


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
