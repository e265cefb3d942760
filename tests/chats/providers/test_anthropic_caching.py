"""Prompt caching of whole conversations, by the stand-in's own accounting: marks, minimum lengths, 20 blocks, five minutes."""

from __future__ import annotations

from dataclasses import replace

from chats.agent.agent import Agent
from chats.agent.demo import support
from chats.agent.provider import ModelMessage, ModelRequest, context_block
from chats.providers.anthropic.request import request_arguments
from tests.support.anthropic_server import text, thinking, tool_use
from tests.support.claude.account import Account
from tests.support.claude.cache import LIFETIME, MARKS, prompt_blocks

MODEL = "claude-sonnet-5-5"
WORDS = "Where is my order, and when will it arrive? " * 4
AGENT = Agent(name="clerk", system=support.system * 4, tools=support.tools)


class Chat:
    """A chat, and the tokens of all its requests: read from the cache, written to it, and paid in full."""

    def __init__(self, agent=AGENT) -> None:
        self.agent, self.account = agent, Account()
        self.messages: list[ModelMessage] = []
        self.usage = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        self.requests: list[dict[str, int]] = []
        self._calls = 0

    def say(self, words=WORDS, page=None, calls=0):
        """One turn: a message, perhaps with a page's context, and an answer, perhaps after a step of parallel calls."""
        context = [] if page is None else [context_block(page)]
        self.messages.append(ModelMessage("user", [*context, text(words)]))
        if calls:
            ids = [f"toolu_{self._calls + number}" for number in range(calls)]
            self._calls += calls
            self._answer(*(tool_use(call_id, "getWeather", city="Rome") for call_id in ids))
            results = [
                {"type": "tool_result", "tool_use_id": call_id, "content": "clear, 20 degrees"} for call_id in ids
            ]
            self.messages.append(ModelMessage("user", results))
        self._answer(text(WORDS))

    def _answer(self, *blocks):
        asked = request_arguments(ModelRequest(self.agent, self.messages), MODEL)
        blocks = [thinking("Let me see.", f"signature {len(self.messages)}"), *blocks]
        usage = self.account.answer(asked.arguments, blocks)
        self.requests.append(usage)
        self.usage = {name: amount + usage[name] for name, amount in self.usage.items()}
        self.messages.append(ModelMessage("assistant", blocks, "anthropic", MODEL, asked.history.prefix))

    @property
    def share_read(self):
        return self.usage["cache_read_input_tokens"] / sum(self.usage.values())


def test_a_chat_of_100_turns_reads_more_than_nine_tenths_of_its_input_from_the_cache():
    chat = Chat()
    for turn in range(100):
        chat.say(page={"order": turn} if turn % 10 == 3 else None, calls=2 if turn % 10 == 7 else 0)
    assert (len(chat.requests), round(chat.share_read, 3)) == (110, 0.983)
    assert all(usage["input_tokens"] == 0 for usage in chat.requests)


def test_a_step_with_more_calls_than_the_cache_looks_back_loses_nothing():
    chat = Chat()
    chat.say()
    before = sum(chat.requests[-1].values())
    chat.say(calls=50)
    chat.say()
    read = [usage["cache_read_input_tokens"] for usage in chat.requests]
    assert read[1] == before
    assert [sum(earlier.values()) for earlier in chat.requests[1:-1]] == read[2:]


def test_no_request_has_more_marks_than_the_api_takes():
    chat = Chat()
    for _ in range(4):
        chat.say(calls=2)
        asked = request_arguments(ModelRequest(chat.agent, chat.messages), MODEL).arguments
        assert sum("cache_control" in block for block in prompt_blocks(asked)) <= MARKS


def test_chats_of_one_agent_share_its_tools_and_instructions():
    first, second = Chat(), Chat()
    second.account = first.account
    first.say("Hello")
    second.say("Good morning")
    assert second.requests[0]["cache_read_input_tokens"] > 1000


def test_after_five_minutes_a_prompt_is_written_again():
    chat = Chat()
    chat.say(), chat.say()
    chat.account.cache.now += LIFETIME
    chat.say()
    assert chat.requests[-1]["cache_read_input_tokens"] == 0
    chat.say()
    assert chat.requests[-1]["cache_read_input_tokens"] == sum(chat.requests[-2].values())


def test_an_agent_may_keep_its_prompts_for_an_hour_or_not_at_all():
    for minutes, gap, read in ((60, 3000, True), (60, 3600, False), (5, 3000, False), (0, 0, False)):
        chat = Chat(replace(AGENT, cache_minutes=minutes))
        chat.say()
        chat.account.cache.now += gap
        chat.say()
        assert (chat.requests[-1]["cache_read_input_tokens"] > 0) == read, minutes


def test_a_prompt_that_is_too_short_is_not_cached_and_costs_no_more():
    chat = Chat(Agent(name="clerk"))
    chat.say("Hello")
    assert (chat.usage["cache_creation_input_tokens"], chat.usage["cache_read_input_tokens"]) == (0, 0)
