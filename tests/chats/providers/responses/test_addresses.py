"""OPENAI_BASE_URL changes but the model's name stays: a server's own data in an answer goes back to that server alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from chats.agent.agent import Agent
from chats.agent.demo import getWeather
from chats.agent.provider import ITEM, ModelMessage, ModelRequest
from chats.providers.openai import OpenAIProvider, ResponsesProvider
from chats.providers.openai.servers import SERVER, for_server, name_of
from tests.support.openai_server import KEY, OpenAIServer, chunk, plays
from tests.support.openai_server import says as says_chat
from tests.support.responses.server import ResponsesServer, call, message, thought
from tests.support.responses.server import says as says_items

MODEL = "local-model"
HELLO = ModelMessage("user", [{"type": "text", "text": "Weather in Paris?"}])
CALL = {"index": 0, "id": "call_paris_1", "type": "function"}
FUNCTION = {"name": "getWeather", "arguments": '{"city": "Paris"}'}
#: An answer with a thought, a signature at the call, and details at the message.
PIECES = [
    chunk({"reasoning_content": "Paris first."}),
    chunk({"tool_calls": [{**CALL, "function": FUNCTION, "extra_content": {"signature": "c2ln"}}]}),
    chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "xxx"}]}),
    chunk({}, "tool_calls"),
]


class Chat:
    """The Chat Completions API."""

    provider, server, conversation = OpenAIProvider, OpenAIServer, "messages"
    secrets = ("reasoning_content", "extra_content", "reasoning_details", CALL["id"])

    def first(self) -> Any:
        return plays(*PIECES)

    def last(self) -> Any:
        return says_chat("It is clear.")


class Responses:
    """The Responses API."""

    provider, server, conversation = ResponsesProvider, ResponsesServer, "input"
    secrets = ("gAAAA", "rs_1", "fc_1")

    def first(self) -> Any:
        return says_items(thought("rs_1", "Paris first."), call("call_1", "getWeather", item_id="fc_1", city="Paris"))

    def last(self) -> Any:
        return says_items(message("It is clear."))


APIS = (Chat(), Responses())


async def ask(api: Any, server: Any, *history: ModelMessage) -> tuple[list[dict[str, Any]], str]:
    """Return the blocks of the answer, and the conversation as the server was first sent it."""
    earlier = len(server.requests)
    provider = api.provider(api_key=KEY, model=MODEL, base_url=server.base_url)
    request = ModelRequest(Agent(name="clerk", tools=[getWeather]), [HELLO, *history])
    finished = [event async for event in provider.stream(request)][-1]
    return finished.blocks, json.dumps(server.requests[earlier].body[api.conversation])


def answered(api: Any, blocks: list[dict[str, Any]]) -> list[ModelMessage]:
    """Return an answer as it is stored, with the results of its calls."""
    stored = json.loads(json.dumps(blocks))
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "clear"} for block in stored if "id" in block
    ]
    return [ModelMessage("assistant", stored, api.provider.name, MODEL), ModelMessage("user", results)]


def kept(api: Any, sent: str) -> Mapping[str, bool]:
    return {secret: secret in sent for secret in api.secrets}


@pytest.mark.parametrize("api", APIS, ids=lambda api: type(api).__name__)
async def test_what_a_server_keeps_in_an_answer_goes_back_to_that_server_alone(api):
    with api.server() as first, api.server() as other:
        first.will(api.first(), api.last())
        other.will(api.last())
        history = answered(api, (await ask(api, first))[0])
        _, elsewhere = await ask(api, other, *history)
        _, back = await ask(api, first, *history)
    assert kept(api, elsewhere) == dict.fromkeys(api.secrets, False)
    assert kept(api, back) == dict.fromkeys(api.secrets, True)
    for sent in (elsewhere, back):
        # The call and its result are everyone's, and the mark no one's.
        assert ("clear" in sent, "getWeather" in sent, f'"{SERVER}"' in sent) == (True, True, False)


@pytest.mark.parametrize("api", APIS, ids=lambda api: type(api).__name__)
async def test_answers_from_before_servers_were_noted_go_back_as_ever(api):
    with api.server() as first, api.server() as other:
        first.will(api.first())
        other.will(api.last())
        blocks, _ = await ask(api, first)
        marked = ModelMessage("assistant", blocks, api.provider.name)
        (old,) = for_server([marked], api.provider.name, name_of(first.base_url))
        assert (SERVER in json.dumps(blocks), SERVER in json.dumps(old.content)) == (True, False)
        _, sent = await ask(api, other, *answered(api, list(old.content)))
    assert kept(api, sent) == dict.fromkeys(api.secrets, True)


async def test_an_answer_without_anything_of_its_server_has_no_mark():
    with OpenAIServer() as server:
        server.will(says_chat("It is clear."))
        blocks, _ = await ask(APIS[0], server)
    assert blocks == [{"type": "text", "text": "It is clear."}]


def test_the_answers_of_other_providers_are_left_alone():
    theirs = ModelMessage("assistant", [{"type": "thinking", "thinking": "Hm.", "signature": "s"}], "anthropic", MODEL)
    assert for_server([HELLO, theirs], "openai", "here") == [HELLO, theirs]


def test_a_server_is_known_by_its_host_and_port_and_nothing_secret_of_its_address():
    name = name_of("https://llm.example.com:8443/v1")
    same = ("https://user:s3cret@LLM.example.com:8443/v1", "https://llm.example.com:8443/team/v1/?key=s3cret")
    others = ("https://llm.example.com/v1", "https://llm2.example.com:8443/v1", "http://localhost:8443/v1")
    assert (name, len(name)) == ("cc0537918562", 12)
    assert [name_of(address) for address in same] == [name, name]
    assert name not in {name_of(address) for address in others}


def test_the_item_of_a_block_is_not_changed_in_place():
    block = {"type": "text", "text": "Hi", ITEM: {"id": "msg_1", SERVER: "there"}}
    for_server([ModelMessage("assistant", [block], "openai-responses")], "openai-responses", "there")
    assert block[ITEM] == {"id": "msg_1", SERVER: "there"}
