"""Streams of turns that end in an unusual way, and the encoder with any order of events."""

from __future__ import annotations

import asyncio

import pytest
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st

from approvals.db import pool
from chats import actions, doorbell
from chats.agent import events
from chats.models import Chat, Turn
from chats.protocols.ai_sdk.encode import MessageStream, frames
from tests.support import people
from tests.support.chats import agents
from tests.support.chats.turns import make_chat, say
from tests.support.chats.wire_rules import problems
from tests.support.machines import Client, answer_on, machine, served

IDS = st.sampled_from(["a", "b", "c"])
TEXTS = st.text(max_size=5)
METADATA = st.sampled_from([{}, {"model": "scripted"}])
EVENTS = st.one_of(
    st.builds(events.StepStarted, st.integers(0, 4)),
    st.builds(events.StepEnded, st.integers(0, 4)),
    st.builds(events.TextStarted, IDS),
    st.builds(events.TextDelta, IDS, TEXTS),
    st.builds(events.TextEnded, IDS),
    st.builds(events.ReasoningStarted, IDS),
    st.builds(events.ReasoningDelta, IDS, TEXTS),
    st.builds(events.ReasoningEnded, IDS),
    st.builds(events.ModelSilent, st.integers(1, 4), st.just(4), st.integers(0, 120)),
    st.builds(events.AnswerRemarked, st.fixed_dictionaries({"code": TEXTS})),
    st.builds(events.ToolInputStarted, IDS, TEXTS),
    st.builds(events.ToolInputDelta, IDS, TEXTS),
    st.builds(events.ToolInputReady, IDS, TEXTS, st.none()),
    st.builds(events.ToolInputInvalid, IDS, TEXTS, st.none(), TEXTS),
    st.builds(events.ApprovalRequested, IDS, TEXTS),
    st.builds(events.ToolSucceeded, IDS, st.none()),
    st.builds(events.ToolFailed, IDS, TEXTS),
    st.builds(events.ToolDenied, IDS),
    st.builds(events.TurnPaused),
    st.builds(events.TurnEnded, st.sampled_from(["stop", "length", "other"]), st.booleans(), METADATA),
    st.builds(events.TurnFailed, TEXTS, METADATA),
)


@given(st.lists(EVENTS, max_size=40))
def test_a_strict_client_accepts_the_stream_of_any_order_of_events(happened):
    stream = MessageStream("m1")
    chunks = stream.start()
    for event in happened:
        chunks += stream.encode(event)
    if not stream.closed:
        chunks += stream.finish("stop")
    assert problems(chunks) == []


def test_a_repeated_step_ends_the_stream_with_an_error():
    stream = MessageStream("m1")
    chunks = [chunk for index in (0, 1, 1) for chunk in stream.encode(events.StepStarted(index))]
    assert chunks[-1] == {
        "type": "error",
        "errorText": "The answer was restarted on the server. Reload the chat to see it.",
    }
    assert stream.encode(events.StepStarted(2)) == []


def test_a_chunk_is_always_one_line():
    assert frames([{"type": "text-delta", "id": "a", "delta": "one\ntwo\r\u2028"}]).count(b"\n") == 2


@pytest.fixture
def odd(settings):
    settings.HITL_AGENTS = [agents.PATH]
    return Client(machine(people.bob()))


@pytest.mark.django_db(transaction=True)
def test_the_closing_text_of_an_empty_turn_is_streamed(odd):
    """Otherwise the client would see a finished tool step and post it again for ever."""
    answer = odd.say("nothing")
    assert answer.chunks[1:] == [
        {"type": "start-step"},
        {"type": "text-start", "id": "closing"},
        {"type": "text-delta", "id": "closing", "delta": "(The agent ended its turn without saying anything more.)"},
        {"type": "text-end", "id": "closing"},
        {"type": "finish-step"},
        {"type": "message-metadata", "messageMetadata": odd.read()["messages"][-1]["metadata"]},
        {"type": "finish", "finishReason": "stop"},
    ]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        ("unknown tool", "output-error", "There is no tool named 'noSuchTool'. Tools: count, pay, "),
        ("bad input", "output-error", "Invalid input for pay: amount: "),
        ("odd", "output-error", "odd ran, but its result cannot be kept: "),
        ("too many", "output-error", "tooMany cannot be asked like this. "),
        ("broken", "output-error", "broken could not make its question. "),
    ],
)
def test_the_stream_and_the_stored_chat_agree_about_a_failed_tool(odd, text, state, words):
    answer = odd.say(text)
    assert problems(answer.chunks) == []
    (failure,) = [chunk for chunk in answer.chunks if "errorText" in chunk]
    assert failure["errorText"].startswith(words)
    assert [(part["state"], part["errorText"]) for part in odd.calls()] == [(state, failure["errorText"])]


@pytest.mark.django_db(transaction=True)
def test_a_turn_that_fails_ends_with_an_error_chunk():
    client = Client(machine(people.bob()))
    turn = say(make_chat(User.objects.get(), client.chat), "hello")
    Turn.objects.update(agent="gone")

    async def story():
        line = client.machine.connect("GET", f"{client.address}/stream", b"", {})
        await line.send_input({"type": "http.request", "body": b""})
        start = await line.receive_output(60)
        doorbell.notify_queued(turn.pk)  # only now: a turn that has failed cannot be followed
        return await answer_on(line, start)

    answer = served(story)
    start, metadata, error = answer.chunks
    assert (start, metadata["type"], error) == (
        {"type": "start", "messageId": turn.message_id},
        "message-metadata",
        {"type": "error", "errorText": "No agent is named 'gone'."},
    )
    assert client.read()["status"] == "failed"


@pytest.mark.django_db(transaction=True)
def test_a_stop_aborts_the_stream_and_keeps_the_text(odd):
    client = odd
    client.messages.append({"id": "u1", "role": "user", "parts": [{"type": "text", "text": "recite"}]})

    async def story():
        posting = asyncio.create_task(client.apost())
        while not await pool.run(Turn.objects.filter(events__isnull=False).exists):
            await asyncio.sleep(0.01)
        stopped = await client.astop()
        return stopped, await posting

    stopped, answer = served(story)
    assert (stopped.status, stopped.json) == (200, {"stopped": True})
    assert problems(answer.chunks) == []
    assert answer.types[-3:] == ["finish-step", "message-metadata", "abort"]
    assert client.read()["status"] == "idle"
    said = "".join(chunk["delta"] for chunk in answer.chunks if chunk["type"] == "text-delta")
    assert [part["text"] for part in client.last["parts"] if part["type"] == "text"] == [said]
    again = client.machine.post(f"{client.address}/stop", None)
    assert again.json == {"stopped": False}


@pytest.mark.django_db(transaction=True)
def test_a_turn_stopped_while_suspended_ends_with_a_text(odd):
    odd.say("pay")
    odd.machine.post(f"{odd.address}/stop", None)
    found = odd.read()
    assert (found["status"], found["pending"]) == ("idle", [])
    assert [part["type"] for part in odd.last["parts"]] == ["step-start", "tool-pay", "step-start", "text"]
    assert actions.stop_turn(Chat.objects.get(), by=Chat.objects.get().owner, via="ai-sdk") is False
