"""Whole turns with Claude: the real runner, and a server that refuses the same requests as the real API."""

from __future__ import annotations

import asyncio
import itertools
import threading
from datetime import timedelta

import pytest

from approvals import actions as desk
from approvals.asking.answers import Answer
from approvals.db import pool
from approvals.models import AuditEntry
from approvals.states import Door, Verdict
from chats import actions, providers
from chats.agent import events, registry
from chats.agent.agent import Agent
from chats.agent.demo import getWeather, issueRefund, support
from chats.engine import ledger, streams
from chats.engine.jobs import Jobs
from chats.models import Message, Turn
from chats.states import CallState, TurnState
from tests.support import people
from tests.support.anthropic_server import (
    KEY,
    AnthropicServer,
    Close,
    Reply,
    answer,
    block_events,
    redacted,
    refuses,
    says,
    text,
    thinking,
    tool_use,
)
from tests.support.chats.turns import chunks, make_chat, only_request, run

pytestmark = pytest.mark.django_db(transaction=True)

MODEL, OTHER_MODEL = "claude-sonnet-4-6", "claude-haiku-4-5"
thinker = Agent(name="support", system="Be careful.", tools=[getWeather, issueRefund], thinking=2048, max_tokens=500)
START = answer()[0]
REFUND = {"amount": 250, "orderId": "A-1"}
REFUNDED = '{"orderId": "A-1", "amount": 250.0, "status": "refunded", "executions": 1}'


@pytest.fixture
def claude(monkeypatch, settings):
    settings.HITL_AGENTS = [f"{__name__}.thinker"]
    settings.HITL_PROVIDER, settings.ANTHROPIC_API_KEY, settings.HITL_MODEL = "anthropic", KEY, MODEL
    with AnthropicServer() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        restart()
        yield server
        restart()


def restart():
    """Drop the caches of the process. The next turn runs on a new event loop anyway."""
    providers._make.cache_clear()
    registry.load.cache_clear()
    registry._with_sub_agents.cache_clear()


def say(chat, words):
    return actions.post_message(chat, words, by=chat.owner, agent=thinker, via=Door.CHAT).turn


def converse(words="Hello"):
    return run(say(make_chat(people.alice()), words))


def decide(turn, verdict=Verdict.APPROVE, **given):
    desk.decide(only_request(turn).pk, Answer(verdict, **given), by=people.bob(), via=Door.DASHBOARD)


def parts(turn):
    stored = Message.objects.get(chat=turn.chat, message_id=turn.message_id).parts
    return [part.get("text") or part.get("errorText") or part.get("state") for part in stored[1:]]


def sent(claude, number=-1):
    return [content for _, content in claude.requests[number].messages]


def result(call_id, content, **more):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def test_a_refund_continues_after_a_restart_with_its_thoughts_unchanged(claude):
    blocks = [
        thinking("250 is a lot.\n\tBetter ask… 🌍", "EqQBCgIYAh+/=="),
        redacted("EmwKAhgBEgy+/=="),
        text("I will ask."),
        tool_use("toolu_1", "issueRefund", **REFUND),
    ]
    claude.will(says(*blocks, stop_reason="tool_use", input_tokens=100, output_tokens=40, cache_read_input_tokens=7))
    turn = converse("Refund A-1, 250 euros")
    assert (turn.state, turn.finish_reason) == (TurnState.SUSPENDED, "tool-calls")
    restart()
    decide(turn)
    claude.will(says(thinking("Done.", "c2ln"), text("It is refunded."), input_tokens=150, output_tokens=2))
    turn = run(turn)
    assert (turn.state, turn.finish_reason) == (TurnState.COMPLETED, "stop")
    assert sent(claude) == [[text("Refund A-1, 250 euros")], blocks, [result("toolu_1", REFUNDED)]]
    assert [request.body["thinking"] for request in claude.requests] == [{"type": "enabled", "budget_tokens": 2048}] * 2
    assert turn.usage == {"input_tokens": 250, "output_tokens": 42, "cache_read_input_tokens": 7}
    assert parts(turn) == [
        "250 is a lot.\n\tBetter ask… 🌍",
        "I will ask.",
        "output-available",
        None,
        "Done.",
        "It is refunded.",
    ]
    # The next turn is shown the whole conversation again.
    claude.will(says(text("Yes.")))
    run(say(turn.chat, "Sure?"))
    assert sent(claude)[1] == blocks


def test_a_rejection_is_reported_as_a_persons_decision(claude):
    claude.will(says(thinking("Hm", "s"), tool_use("toolu_1", "issueRefund", **REFUND), stop_reason="tool_use"))
    turn = converse()
    decide(turn, Verdict.REJECT, comment="Not without the parcel.")
    claude.will(says(text("Bob says no.")))
    assert run(turn).state == TurnState.COMPLETED
    words = (
        "A person decided against this call. It was not run; do not try it again. Their reason: Not without the parcel."
    )
    assert sent(claude)[-1] == [result("toolu_1", words)]


def test_parallel_calls_are_answered_in_one_message(claude):
    calls = [tool_use("toolu_1", "getWeather", city="Rome"), tool_use("toolu_2", "getWeather", city=5)]
    claude.will(says(thinking("Two.", "s"), *calls, stop_reason="tool_use"), says(text("Warm.")))
    assert converse().state == TurnState.COMPLETED
    assert sent(claude)[-1] == [
        result("toolu_1", '{"city": "Rome", "temperature": 16, "sky": "cloudy"}'),
        result("toolu_2", "Invalid input for getWeather: city: Input should be a valid string", is_error=True),
    ]


BROKEN_OFF = "The model's answer ended before it was complete. Send your message again."
STOP_REASONS = {
    "end_turn": (TurnState.COMPLETED, "stop", ""),
    "stop_sequence": (TurnState.COMPLETED, "stop", ""),
    "max_tokens": (TurnState.COMPLETED, "length", ""),
    "model_context_window_exceeded": (TurnState.COMPLETED, "length", ""),
    "refusal": (TurnState.COMPLETED, "content-filter", ""),
    "tool_use": (TurnState.COMPLETED, "other", ""),
    "of_next_year": (TurnState.COMPLETED, "other", ""),
    None: (TurnState.FAILED, "error", BROKEN_OFF),
}


@pytest.mark.parametrize("stop_reason", STOP_REASONS)
def test_every_stop_reason_has_a_finish_reason(claude, stop_reason):
    claude.will(says(text("So far."), stop_reason=stop_reason))
    turn = converse()
    assert (turn.state, turn.finish_reason, turn.error) == STOP_REASONS[stop_reason]


def test_a_paused_answer_is_continued(claude):
    first = [thinking("Long.", "s"), text("I look ")]
    claude.will(says(*first, stop_reason="pause_turn"), says(text("further.")))
    turn = converse()
    assert (turn.finish_reason, parts(turn)) == ("stop", ["Long.", "I look ", None, "further."])
    assert sent(claude) == [[text("Hello")], [first[0], text("I look")]]


@pytest.mark.parametrize(
    ("stop_reason", "finish_reason"),
    [("max_tokens", "length"), ("model_context_window_exceeded", "length"), ("refusal", "content-filter")],
)
@pytest.mark.parametrize("written", ['{"amount": 1, "orderId": "A-', '{"amount": 1, "orderId": "A-1"}'])
def test_a_call_that_was_cut_off_is_not_run(claude, stop_reason, finish_reason, written):
    start, _, delta, *_, stop = block_events(0, tool_use("toolu_1", "issueRefund", x=1))
    delta["delta"]["partial_json"] = written
    claude.will(Reply(items=[START, start, delta, stop, *answer(stop_reason=stop_reason)[2:]]))
    turn = converse()
    assert (turn.state, turn.finish_reason, len(claude.requests)) == (TurnState.COMPLETED, finish_reason, 1)
    call = turn.tool_calls.get()
    words = "The model's answer was cut off in this call, so it was not run."
    assert (call.state, call.error_text, call.attempt) == (CallState.FAILED, words, 0)
    entry = AuditEntry.objects.get(event="tool.result")
    assert (entry.data["state"], entry.data["error_text"], entry.data["executions"]) == ("failed", words, 0)
    assert [chunk["error_text"] for chunk in chunks(turn, "ToolFailed")] == [words]
    claude.will(says(text("Shorter, then.")))
    assert run(say(turn.chat, "Go on")).state == TurnState.COMPLETED
    refused, told = [[text("Go on")]], result("toolu_1", words, is_error=True)
    assert sent(claude) == refused if stop_reason == "refusal" else sent(claude)[2][0] == told


def test_blocks_of_an_unknown_type_are_kept_but_not_sent_back(claude):
    start, *rest = answer(text("Seen."), tool_use("toolu_1", "getWeather", city="Rome"), stop_reason="tool_use")
    new = {"type": "content_block_start", "index": 7, "content_block": {"type": "hologram", "data": [1]}}
    claude.will(Reply(items=[start, new, *rest]), says(text("Warm.")))
    turn = converse()
    assert (turn.state, turn.steps.first().blocks[-1]) == (TurnState.COMPLETED, new["content_block"])
    assert [block["type"] for block in sent(claude)[1]] == ["text", "tool_use"]


def test_a_stop_cuts_claude_short_and_keeps_its_text(claude, monkeypatch):
    # The runner must be stopped by the notification, not by the next renewal of the lease.
    monkeypatch.setattr(ledger, "RENEW_EVERY", timedelta(hours=1))
    begin, *words = block_events(0, text("One, two, three"), size=5)[:-1]
    claude.will(Reply(items=[START, begin, *words, threading.Event()]))
    chat = make_chat(people.alice())

    async def scenario():
        jobs = Jobs(asyncio.get_running_loop())
        jobs.open()
        turn = await pool.run(say, chat, "Count")
        request = await asyncio.to_thread(claude.wait_for_request)
        seen = streams.follow(turn.pk)
        async for _, event in seen:
            if event == events.TextDelta("text-0", "three"):
                break
        await pool.run(actions.stop_turn, chat, by=chat.owner, via=Door.CHAT)
        ended = [event async for _, event in seen]
        assert await asyncio.to_thread(request.gone.wait, 60)
        await jobs.drain()
        return turn.pk, ended

    pk, ended = asyncio.run(asyncio.wait_for(scenario(), 120))
    turn = Turn.objects.select_related("chat__owner").get(pk=pk)
    stored = turn.chat.messages.get(message_id=turn.message_id).metadata
    assert ended == [events.TurnEnded("other", stopped=True, metadata=stored)]
    usage = {"inputTokens": 10, "outputTokens": 1, "cachedInputTokens": 0, "reasoningTokens": 0}
    assert (stored["model"], stored["usage"]) == ("claude-sonnet-4-6-20260901", usage)
    assert (turn.state, turn.stopped, parts(turn)) == (TurnState.STOPPED, True, ["One, two, three"])
    claude.will(says(text("Four.")))
    assert run(say(chat, "Go on")).state == TurnState.COMPLETED
    assert sent(claude) == [[text("Count")], [text("One, two, three")], [text("Go on")]]


def test_an_endless_answer_fails_the_turn_with_a_clear_error(claude):
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "la " * 700}}
    claude.will(Reply(items=itertools.chain([START, block_events(0, text("x"))[0]], itertools.repeat(delta))))
    turn = converse()
    words = "The model's answer was cut off because it is longer than 400,000 characters."
    assert (turn.state, turn.error) == (TurnState.FAILED, words)
    assert claude.requests[0].gone.wait(60)


def test_the_page_shows_a_failure_and_the_chat_continues(claude, client):
    claude.will(Reply(items=[*answer(text("Half an"))[:-2], Close.EARLY]), refuses(404, "not_found_error"))
    turn = converse()
    second = run(say(turn.chat, "Hello?"))
    assert [turn.error, second.error] == [
        BROKEN_OFF,
        "No model is named claude-sonnet-4-6. Check HITL_MODEL, or the agent's model.",
    ]
    client.force_login(turn.chat.owner)
    assert "No model is named claude-sonnet-4-6." in client.get(turn.chat.get_absolute_url()).content.decode()
    claude.will(says(text("Here I am.")))
    assert run(say(turn.chat, "Hello??")).state == TurnState.COMPLETED
    so_far = [text("Half an"), text("(An error interrupted this answer here.)")]
    assert sent(claude) == [[text("Hello")], so_far, [text("Hello?")], [text("Hello??")]]


def test_claude_continues_a_chat_of_the_scripted_provider(claude, settings):
    settings.HITL_PROVIDER, settings.HITL_AGENTS = "scripted", ["chats.agent.demo.support"]
    chat = make_chat(people.alice())
    turn = run(actions.post_message(chat, "approve refund", by=chat.owner, agent=support, via=Door.CHAT).turn)
    decide(turn)
    settings.HITL_PROVIDER = "anthropic"
    settings.HITL_AGENTS = [f"{__name__}.thinker"]
    claude.will(says(text("It is settled.")), says(thinking("Easy.", "s"), text("Yes.")))
    assert run(turn).state == TurnState.COMPLETED
    assert run(say(chat, "Sure?")).state == TurnState.COMPLETED
    assert ["thinking" in request.body for request in claude.requests] == [False, True]


def test_a_chat_continues_with_another_model_and_another_account(claude, settings, monkeypatch):
    blocks = [thinking("Hm.", "s"), tool_use("toolu_1", "issueRefund", **REFUND)]
    claude.will(says(*blocks, stop_reason="tool_use"))
    turn = converse()
    settings.HITL_MODEL = OTHER_MODEL
    decide(turn)
    claude.will(says(text("Settled.")), says(thinking("Mine.", "own"), text("Yes.")))
    run(turn)
    run(say(turn.chat, "Sure?"))
    assert [sent(claude, number)[1] for number in (1, 2)] == [blocks[1:], blocks[1:]]
    assert ["thinking" in request.body for request in claude.requests] == [True, False, True]
    with AnthropicServer() as other_account:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", other_account.url)
        restart()
        other_account.will(says(thinking("Mine too.", "own"), text("Yes.")))
        assert run(say(turn.chat, "Really?")).state == TurnState.COMPLETED
        assert [[text("Yes.")] in sent(other_account, number) for number in (0, 1)] == [False, True]
