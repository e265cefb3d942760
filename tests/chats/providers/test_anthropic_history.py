"""The history sent to Claude only grows, and after any change of it, the API refuses thoughts at most once."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chats.agent.agent import Agent
from chats.agent.demo import getWeather, issueRefund
from chats.agent.provider import ModelMessage, ModelRequest, ProviderError
from chats.providers.anthropic import AnthropicProvider
from chats.providers.anthropic.request import request_arguments
from tests.support.anthropic_server import KEY, AnthropicServer, says, text, thinking, tool_use
from tests.support.chats.streams import read_into
from tests.support.claude.account import Account

NEW, OTHER, OLD = "claude-sonnet-5-5", "claude-fable-5-2", "claude-haiku-4-5"
AGENT = Agent(name="clerk", system="Be kind.", tools=[getWeather])


class Chat:
    """A chat whose every answer has a thought, with all that may change behind it."""

    def __init__(self) -> None:
        self.agent, self.model, self.account = AGENT, NEW, Account()
        self.messages: list[ModelMessage] = []
        self.refused = 0
        self.reported: list[int] = []
        self._made = 0

    def say(self, words="Hello"):
        self.messages.append(ModelMessage("user", [text(words)]))
        return self.go_on()

    def call(self):
        """An answer that calls a tool, its result, and the answer to that."""
        self.messages.append(ModelMessage("user", [text("And the weather?")]))
        call_id = f"toolu_{self._made}"
        self._answer(tool_use(call_id, "getWeather", city="Rome"))
        result = {"type": "tool_result", "tool_use_id": call_id, "content": "clear"}
        self.messages.append(ModelMessage("user", [result]))
        return self.go_on()

    def go_on(self):
        return self._answer(text(f"Answer {self._made}"))

    def _answer(self, *blocks):
        """Ask as the provider does: a refused request is sent again without thoughts."""
        self._made += 1
        blocks = [thinking("Hm.", f"signature-{self._made}"), *blocks]
        request = ModelRequest(self.agent, self.messages)
        asked = request_arguments(request, self.model)
        if objection := self.account.objection(asked.arguments):
            assert "signature" in objection
            self.refused += 1
            asked = request_arguments(request, self.model, ["thoughts"])
        self.account.answer(asked.arguments, blocks)
        self.reported.append(asked.history.left_out if asked.history.changed else 0)
        self.messages.append(ModelMessage("assistant", blocks, "anthropic", self.model, asked.history.prefix))
        return self.thoughts(asked.arguments["messages"])

    @staticmethod
    def thoughts(messages):
        """The signatures that were sent, in short."""
        found = [block["signature"] for one in messages for block in one["content"] if block["type"] == "thinking"]
        return [int(signature.removeprefix("signature-")) for signature in found]


def test_all_thoughts_are_sent_back_while_nothing_changes():
    chat = Chat()
    assert [chat.say(), chat.call(), chat.say()] == [[], [1, 2], [1, 2, 3]]
    assert (chat.refused, chat.reported) == (0, [0] * 4)


def test_a_changed_system_prompt_leaves_out_only_the_thoughts_before_it_and_is_reported_once():
    chat = Chat()
    chat.say(), chat.say()
    chat.agent = replace(AGENT, system="Be brief.")
    assert [chat.say(), chat.say(), chat.say()] == [[], [3], [3, 4]]
    assert (chat.refused, chat.reported) == (0, [0, 0, 2, 0, 0])


def test_changed_tools_leave_out_the_thoughts_before_them():
    chat = Chat()
    chat.say()
    chat.agent = replace(AGENT, tools=[getWeather, issueRefund])
    assert [chat.say(), chat.say()] == [[], [2]]
    assert chat.refused == 0


def test_a_system_prompt_that_is_changed_back_makes_its_thoughts_valid_again():
    chat = Chat()
    chat.say()
    chat.agent = replace(AGENT, system="Be brief.")
    chat.say()
    chat.agent = AGENT
    assert [chat.say(), chat.say()] == [[1], [1, 3]]
    assert chat.refused == 0


def test_another_account_refuses_thoughts_once():
    chat = Chat()
    chat.say(), chat.call()
    chat.account = Account()
    assert [chat.say(), chat.say(), chat.call()] == [[], [4], [4, 5, 6]]
    assert chat.refused == 1


def test_a_model_is_sent_its_own_thoughts_only_and_they_are_valid_when_it_returns():
    chat = Chat()
    chat.say()
    chat.model = OTHER
    assert [chat.say(), chat.say()] == [[], [2]]
    chat.model = NEW
    assert [chat.say(), chat.say()] == [[1], [1, 4]]
    assert chat.refused == 0


def test_answers_that_were_stored_before_digests_were_are_believed_until_they_are_refused():
    chat = Chat()
    chat.say(), chat.say()
    chat.messages = [replace(message, prefix="") for message in chat.messages]
    assert chat.say() == [1, 2]
    chat.messages = [replace(message, prefix="") for message in chat.messages]
    chat.agent = replace(AGENT, system="Be brief.")
    assert [chat.say(), chat.say()] == [[], [4]]
    assert chat.refused == 1


@dataclass(frozen=True)
class Change:
    what: str
    value: str = ""


CHANGES = [
    Change("say"),
    Change("call"),
    Change("system", "Be kind."),
    Change("system", "Be brief."),
    Change("system", ""),
    Change("tools", "two"),
    Change("tools", "one"),
    Change("model", NEW),
    Change("model", OTHER),
    Change("account"),
]


@given(st.lists(st.sampled_from(CHANGES), max_size=14))
@settings(deadline=None)
def test_whatever_changes_only_another_account_ever_refuses_thoughts_and_each_model_in_it_once(changes):
    chat = Chat()
    may_refuse = 0
    for change in changes:
        match change:
            case Change("say"):
                chat.say()
            case Change("call"):
                chat.call()
            case Change("system", words):
                chat.agent = replace(chat.agent, system=words)
            case Change("tools", count):
                chat.agent = replace(chat.agent, tools=[getWeather, issueRefund][: 1 if count == "one" else 2])
            case Change("model", name):
                chat.model = name
            case _:
                chat.account = Account()
                may_refuse += 2
        assert chat.refused <= may_refuse
    chat.say()
    refused = chat.refused
    assert chat.say()
    assert chat.refused == refused


def step(number, prefix=""):
    return ModelMessage("assistant", [text(f"Answer {number}")], "anthropic", OLD, prefix)


async def test_a_chat_that_is_too_long_goes_on_without_its_first_half_and_stays_so():
    words = "word " * 20_000
    history = [message for n in range(12) for message in (ModelMessage("user", [text(words)]), step(n))]
    with AnthropicServer() as claude:
        provider = AnthropicProvider(api_key=KEY, model=OLD, base_url=claude.url)
        claude.will(says(text("Yes.")), says(text("Yes.")))
        told = []
        for _ in range(2):
            history.append(ModelMessage("user", [text("More")]))
            request = ModelRequest(AGENT, history)
            *_, finished = [event async for event in provider.stream(request)]
            told.append(finished.stop_details)
            history.append(ModelMessage("assistant", finished.blocks, "anthropic", OLD, finished.prefix))
        # Only the first request is refused: the second begins where the answer before it began.
        assert [len(request.messages) for request in claude.requests] == [25, 11, 13]
        assert (
            claude.requests[1].messages[0][1][0]["text"].startswith("(The beginning of this conversation is left out")
        )
        assert claude.requests[2].messages[:11] == claude.requests[1].messages
    assert told == [{"messages_left_out": {"messages": 14}}, {}]


async def test_a_single_message_that_is_too_long_is_refused_with_words():
    with AnthropicServer() as claude:
        provider = AnthropicProvider(api_key=KEY, model=OLD, base_url=claude.url)
        request = ModelRequest(AGENT, [ModelMessage("user", [text("word " * 200_000)])])
        with pytest.raises(ProviderError) as refused:
            await read_into([], provider.stream(request))
    assert (str(refused.value), len(claude.requests)) == ("This chat is too long for the model. Start a new chat.", 1)


FOREIGN_CALLS = [("functions.get:0", "foo.bar"), ("", "x" * 200), ("ü", "getWeather"), ("call_1", "getWeather")]


def test_calls_of_other_servers_are_sent_with_ids_and_names_that_claude_takes_and_valid_ones_as_they_are():
    def ask(messages):
        return request_arguments(ModelRequest(AGENT, messages), NEW).arguments

    uses = [tool_use(call_id, name) for call_id, name in FOREIGN_CALLS]
    results = [{"type": "tool_result", "tool_use_id": call_id, "content": "ok"} for call_id, _ in FOREIGN_CALLS]
    asked = [ModelMessage("user", [text("Hello")]), ModelMessage("assistant", uses, "openai", "kimi-k2")]
    arguments = ask([*asked, ModelMessage("user", results)])
    assert Account().objection(arguments) == ""
    _, called, answered = (message["content"] for message in arguments["messages"])
    ids = [block["id"] for block in called]
    assert [block["tool_use_id"] for block in answered] == ids
    assert ids[:3] == [hashlib.sha256(call_id.encode()).hexdigest()[:9] for call_id, _ in FOREIGN_CALLS[:3]]
    assert (ids[3], called[0]["name"].split("_")[:2]) == ("call_1", ["foo", "bar"])
    assert [block["name"] for block in called[2:]] == ["getWeather", "getWeather"]
    assert len({block["name"] for block in called}) == 3
    # The sent history only grows.
    more = [*asked, ModelMessage("user", results), ModelMessage("assistant", [text("Done.")], "openai", "kimi-k2")]
    assert [block.get("id") for block in ask([*more, asked[0]])["messages"][1]["content"]] == ids


class Watched(dict):
    """The data of a picture, which know whether the thread of the event loop was the first to turn them into JSON."""

    blocking = None

    def items(self):
        if self.blocking is None:
            self.blocking = threading.current_thread() is threading.main_thread()
        return super().items()


async def test_a_history_with_files_is_built_outside_of_the_event_loop():
    source = Watched({"type": "base64", "media_type": "image/png", "data": "aWNvbg=="})
    request = ModelRequest(AGENT, [ModelMessage("user", [{"type": "image", "source": source}, text("What is this?")])])
    with AnthropicServer() as claude:
        claude.will(says(text("An icon.")))
        provider = AnthropicProvider(api_key=KEY, model=NEW, base_url=claude.url)
        *_, finished = [event async for event in provider.stream(request)]
    assert (finished.blocks, source.blocking) == ([text("An icon.")], False)
