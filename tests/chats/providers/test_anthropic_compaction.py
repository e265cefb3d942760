"""A chat that outgrows its model's window: the API summarizes it, and people can read the summary."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chats.agent.agent import Agent
from chats.agent.demo import getWeather
from chats.agent.events import AnswerMetered, ReasoningDelta, ReasoningEnded, ReasoningStarted
from chats.agent.provider import ModelMessage, ModelRequest
from chats.models import Message
from chats.providers.anthropic import AnthropicProvider
from chats.providers.anthropic.history import sendable_history
from chats.providers.anthropic.request import request_arguments
from chats.providers.anthropic.stream import StreamedAnswer
from tests.chats.providers.test_anthropic_turns import claude, converse, say, sent
from tests.support.anthropic_server import KEY, Reply, answer, refuses, says, text
from tests.support.chats.turns import run

__all__ = ["claude"]

NEW, OLD = "claude-sonnet-5-5", "claude-haiku-4-5"
AGENT = Agent(name="clerk", tools=[getWeather])
SUMMARY = {"type": "compaction", "content": "They said hello."}
LONG = [ModelMessage("user", [text("word " * 250_000)])]
BIG, SMALL = "compact_20260112", "clear_tool_uses_20250919"


def edits(messages, model, agent=AGENT):
    asked = request_arguments(ModelRequest(agent, messages), model).arguments
    found = asked.get("extra_body", {}).get("context_management", {}).get("edits", [])
    return [(edit["type"], edit["trigger"]["value"]) for edit in found], asked.get("extra_headers", {})


def test_a_long_history_asks_for_a_summary_and_a_short_one_for_nothing():
    assert edits([ModelMessage("user", [text("Hello")])], NEW) == ([], {})
    assert edits(LONG, NEW) == ([(BIG, 700_000)], {"anthropic-beta": "compact-2026-01-12"})


def test_a_model_that_makes_no_summaries_forgets_old_results_of_tools_and_keeps_its_temperature():
    assert edits(LONG, OLD) == ([(SMALL, 140_000)], {"anthropic-beta": "context-management-2025-06-27"})
    asked = request_arguments(ModelRequest(replace(AGENT, temperature=0.5), LONG), OLD).arguments
    assert (asked["extra_body"]["temperature"], "context_management" in asked["extra_body"]) == (0.5, True)


async def events_of(claude, messages):
    provider = AnthropicProvider(api_key=KEY, model=NEW, base_url=claude.url)
    asked = provider.stream(ModelRequest(AGENT, messages))
    return [event async for event in asked if not isinstance(event, AnswerMetered)]


async def test_a_summary_is_streamed_as_thinking_kept_and_sent_back(claude):
    claude.will(says(SUMMARY, text("Go on.")), says(text("Yes.")))
    *shown, finished = await events_of(claude, LONG)
    assert shown[:3] == [
        ReasoningStarted("summary-0"),
        ReasoningDelta("summary-0", "They said hello."),
        ReasoningEnded("summary-0"),
    ]
    assert finished.blocks == [SUMMARY, text("Go on.")]
    step = ModelMessage("assistant", finished.blocks, "anthropic", NEW, finished.prefix)
    await events_of(claude, [ModelMessage("user", [text("Hello")]), step, ModelMessage("user", [text("More")])])
    request = claude.requests[1]
    assert (request.messages[1][1][0], request.headers["anthropic-beta"]) == (SUMMARY, "compact-2026-01-12")


async def test_what_a_summary_costs_is_counted(claude):
    *events, delta, stop = answer(SUMMARY, text("Go on."), input_tokens=10, output_tokens=5)
    rounds = {"iterations": [{"type": "compaction", "input_tokens": 700, "output_tokens": 30}, {"type": "message"}]}
    claude.will(Reply(items=[*events, delta | {"usage": delta["usage"] | rounds}, stop]))
    assert (await events_of(claude, LONG))[-1].usage == {"input_tokens": 710, "output_tokens": 35}


async def test_an_api_without_summaries_is_asked_without_them_from_then_on(claude):
    step = ModelMessage("assistant", [SUMMARY, text("Go on.")], "anthropic", NEW)
    history = [ModelMessage("user", [text("Hello")]), step, ModelMessage("user", [text("More")])]
    claude.will(refuses(400, "invalid_request_error", "context_management: Extra inputs are not permitted"))
    claude.will(says(text("Yes.")))
    await events_of(claude, history)
    assert ["context_management" in request.body for request in claude.requests] == [True, False]
    assert claude.requests[1].messages[1][1] == [text("Go on.")]


@pytest.mark.django_db(transaction=True)
def test_people_can_read_the_summary_in_the_message(claude):
    claude.will(says(SUMMARY, text("Go on.")), says(text("Yes.")))
    turn = converse()
    parts = Message.objects.get(message_id=turn.message_id).parts
    assert [part.get("text") for part in parts if part["type"] in {"reasoning", "text"}] == [
        "They said hello.",
        "Go on.",
    ]
    run(say(turn.chat, "More"))
    assert sent(claude)[1] == [SUMMARY, text("Go on.")]


FAILED = {"type": "compaction", "content": None, "encrypted_content": "c2VhbGVk"}
LISTING = {"type": "mcp_tool_listing", "mcp_server_name": "crm", "tools": [{"name": "find", "input_schema": {}}]}
CRM = {"tools": [{"type": "mcp_toolset", "mcp_server_name": "crm"}]}
CODE = {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]}
BEHIND = [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, text("Yes.")]


@pytest.mark.parametrize(
    ("block", "opening", "sent_blocks"),
    [
        (FAILED, {}, [FAILED, *BEHIND]),
        (LISTING, CRM, [LISTING, *BEHIND]),
        # A list of a server that is not declared any more, and with it the thought behind it.
        (LISTING, {}, BEHIND[1:]),
        ({"type": "of_next_year"}, {}, BEHIND[1:]),
        # In a request it would load the file anew, and fail with it.
        ({"type": "container_upload", "file_id": "file_1"}, CODE, BEHIND[1:]),
        ({"type": "compaction", "content": ""}, {}, BEHIND[1:]),
    ],
)
def test_a_block_that_may_go_back_goes_back_with_the_thought_behind_it(block, opening, sent_blocks):
    history = [
        ModelMessage("user", [text("Hello")]),
        ModelMessage("assistant", [block, *BEHIND], "anthropic", NEW),
        ModelMessage("user", [text("More")]),
    ]
    assert sendable_history(history, NEW, opening).messages[1]["content"] == sent_blocks


@pytest.mark.parametrize("begin", [None, ""])
def test_a_summary_that_failed_is_kept_in_the_form_in_which_it_may_go_back(begin):
    answer = StreamedAnswer(NEW)
    raws = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": begin}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": None}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    ]
    for raw in raws:
        list(answer.take(raw))
    assert answer.finished().blocks == [{"type": "compaction", "content": None}]
