"""Model and cost are on record for every answer, also for one that failed or was stopped."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest

from approvals.models import AuditEntry
from approvals.states import Door
from chats import actions
from chats.agent import events
from chats.engine import runner, streams
from chats.models import Step
from chats.providers.anthropic.stream import StreamedAnswer
from chats.queries.usage import Tokens, total, usage_of_chat
from chats.states import TurnState
from tests.chats.providers.stands import STANDS
from tests.chats.providers.test_every_provider import chat, clerk, restart, say, stand
from tests.support import anthropic_server as claude
from tests.support.anthropic_server import Close
from tests.support.chats.turns import parts, reload

__all__ = ["chat", "stand"]

pytestmark = pytest.mark.django_db(transaction=True)

REQUEST = "req_011CXyZabcdefGHIJKLmnopqrstuvw99"


def on_record(turn):
    """Return the model and provider of each step of a turn, and the usage of the turn."""
    return [step.answered_by for step in turn.steps.order_by("index")], turn.usage


def test_the_answering_model_and_the_ids_are_stored_with_each_step(stand, chat, settings, monkeypatch):
    stand.configure(settings, monkeypatch)
    stand.server.will(replace(stand.says("Hello."), headers={stand.request_id: REQUEST}))
    turn = say(chat)
    assert turn.steps.get().model == stand.model
    assert on_record(turn) == (
        [stand.answered_by | {"request_id": REQUEST}],
        {"input_tokens": 10, "output_tokens": 5},
    )


def test_a_refused_request_is_named_in_the_error(stand, chat, settings, monkeypatch):
    stand.configure(settings, monkeypatch)
    stand.server.will(stand.refuses(400, "No.", **{stand.request_id: REQUEST}))
    turn = say(chat)
    assert turn.error.endswith(f"accept the request: No. (Request {REQUEST}.)")


def test_an_answer_that_breaks_off_says_who_gave_it(stand, chat, settings, monkeypatch):
    stand.configure(settings, monkeypatch)
    stand.server.will(replace(stand.breaks("Half an", Close.EARLY), headers={stand.request_id: REQUEST}))
    turn = say(chat)
    by = stand.answered_by | {"request_id": REQUEST}
    words = f"The model's answer ended before it was complete. Send your message again. (Request {REQUEST}.)"
    assert (turn.state, turn.error, on_record(turn)[0]) == (TurnState.FAILED, words, [by])
    assert AuditEntry.objects.get(event="turn.failed").data == {"error": words, "answered_by": by}


def test_a_key_or_other_things_in_place_of_an_id_are_not_stored(stand, chat, settings, monkeypatch):
    stand.configure(settings, monkeypatch)
    stand.server.will(replace(stand.says("Hello."), headers={stand.request_id: f"id/{stand.key}"}))
    stand.server.will(replace(stand.says("Hello."), headers={stand.request_id: "<html>a page</html>"}))
    assert [on_record(say(chat))[0][0].get("request_id") for _ in range(2)] == ["id/[removed]", None]


def test_every_class_of_usage_and_the_service_tier_of_claude_are_kept():
    usage = {
        "input_tokens": 10,
        "output_tokens": 1,
        "cache_creation_input_tokens": 30,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
        "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0},
        "service_tier": "priority",
    }
    answer = StreamedAnswer("claude-sonnet-5-5")
    (metered,) = answer.take({"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": usage}})
    assert metered.usage == {
        "input_tokens": 10,
        "output_tokens": 1,
        "cache_creation_input_tokens": 30,
        "cache_creation_1h_input_tokens": 20,
        "web_search_requests": 2,
    }
    assert metered.answered_by == {"model": "m", "message_id": "msg_1", "service_tier": "priority"}


def test_an_answer_that_cannot_be_used_costs_what_it_used(stand, chat, settings, monkeypatch):
    stand.configure(settings, monkeypatch)
    same = ("call_1", "getWeather", {"city": "Rome"})
    stand.server.will(stand.says("", *[(f"c{number}", "getWeather", {}) for number in range(501)]))
    turn = say(chat)
    assert (turn.state, on_record(turn)[1]) == (TurnState.FAILED, {"input_tokens": 10, "output_tokens": 5})
    assert (turn.steps.get().blocks, chat.messages.filter(role="assistant").count()) == ([], 0)
    stand.server.will(stand.says("Fine.", same), stand.says("Clear."))
    assert [part["type"] for part in parts(say(chat))] == [
        "step-start",
        "text",
        "tool-getWeather",
        "step-start",
        "text",
    ]
    assert total(usage_of_chat(chat).values()).tokens == Tokens(input=30, output=15)


async def stop_at_the_first_words(turn):
    """Run a turn, and stop it when something of its answer was published."""
    stop = asyncio.Event()
    running = asyncio.create_task(runner.advance(turn.pk, stop))
    async for _, event in streams.follow(turn.pk):
        if isinstance(event, events.TextEnded):
            break
    stop.set()
    await running


def test_an_answer_of_claude_that_fails_or_is_stopped_costs_what_it_had_used(settings, monkeypatch, chat):
    stand = STANDS[0]()
    with stand.server as server:
        stand.configure(settings, monkeypatch)
        restart()
        begin, *rest = claude.answer(claude.tool_use("toolu_1", "getWeather", city="Rome"), input_tokens=70)
        server.will(claude.Reply(items=[begin, *rest[:3], Close.EARLY]))
        failed = say(chat)
        gate = threading.Event()
        server.will(claude.Reply(items=[begin, *claude.block_events(0, claude.text("So far")), gate]))
        stopped = actions.post_message(chat, "Hello", by=chat.owner, agent=clerk, via=Door.CHAT).turn
        asyncio.run(stop_at_the_first_words(stopped))
        gate.set()
    stopped = reload(stopped)
    assert [(turn.state, turn.usage) for turn in (failed, stopped)] == [
        (TurnState.FAILED, {"input_tokens": 70, "output_tokens": 1}),
        (TurnState.STOPPED, {"input_tokens": 70, "output_tokens": 1}),
    ]
    assert parts(stopped)[-1]["text"] == "So far"
    assert Step.objects.filter(stop_reason="stopped").get().answered_by["message_id"] == "msg_1"
