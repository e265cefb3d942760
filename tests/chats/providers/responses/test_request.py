"""The requests to a Responses API: settings of an agent, and a conversation of all that a chat may hold."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from chats.agent.agent import ADAPTIVE, Agent
from chats.agent.demo import getWeather, issueRefund
from chats.agent.provider import ModelMessage, ModelRequest
from chats.agent.server_tools import ServerTool
from chats.agent.tools import tool
from chats.providers.openai import ResponsesProvider
from tests.chats.providers.test_openai_provider import HELLO, results
from tests.support.anthropic_server import tool_use
from tests.support.responses.server import KEY, ResponsesServer, call, message, refuses, says

NEW, OLD, OWN = "gpt-5.5", "gpt-4o", "local-model"
NAME = ResponsesProvider.name


@pytest.fixture
def server():
    with ResponsesServer() as started:
        yield started


def provider(server, **given):
    return ResponsesProvider(**{"api_key": KEY, "model": NEW, "base_url": server.base_url, **given})


async def ask(server, messages=HELLO, *, by=None, tools=(getWeather, issueRefund), model="", **given):
    """Return the whole answer."""
    agent = Agent(name="clerk", tools=tools, model=model, **given)
    asked = (by or provider(server)).stream(ModelRequest(agent, messages))
    return [event async for event in asked][-1]


def person(*parts):
    return {"type": "message", "role": "user", "content": list(parts)}


def read(words):
    return {"type": "input_text", "text": words}


async def test_system_prompt_and_tools_are_sent_and_nothing_is_stored(server):
    server.will(says(message("Hi")))
    await ask(server, system="Be kind.", max_tokens=100)
    functions = [
        {"name": each.name, "description": each.description, "parameters": each.input_schema, "strict": False}
        for each in (getWeather, issueRefund)
    ]
    assert server.requests[0].body == {
        "model": NEW,
        "input": [person(read("Hello"))],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be kind.",
        "max_output_tokens": 100,
        "reasoning": {"summary": "auto"},
        "tools": [{"type": "function", **function} for function in functions],
    }


CONCESSIONS = {
    "no temperature": (NEW, {"temperature": 0.2}, {"include", "reasoning"}),
    "no thoughts": (OLD, {"temperature": 0.2, "effort": "low"}, {"temperature"}),
}


@pytest.mark.parametrize("case", CONCESSIONS)
async def test_an_argument_that_a_model_refuses_is_left_out_from_then_on(server, case):
    model, given, expected = CONCESSIONS[case]
    asked = {"by": provider(server), "model": model, "tools": (), **given}
    server.will(says(message("Hi")), says(message("Hi again")))
    for _ in range(2):
        await ask(server, **asked)
    second, third = (request.body for request in server.requests[-2:])
    always = {"model", "input", "stream", "store", "max_output_tokens"}
    assert (second, third.keys() - always, third["store"]) == (third, expected, False)


async def test_a_summary_that_an_account_may_not_see_is_left_out_and_the_thoughts_are_kept(server):
    words = "Your organization must be verified to generate reasoning summaries. Please go to: ..."
    by = provider(server)
    refusal = refuses(400, "invalid_request_error", words, "unsupported_value", param="reasoning.summary")
    server.will(refusal, says(message("Hi")))
    await ask(server, by=by, effort="low")
    body = server.requests[-1].body
    assert (body["reasoning"], body["include"]) == ({"effort": "low"}, ["reasoning.encrypted_content"])


SETTINGS = {
    "effort": ({"effort": "high"}, {"reasoning": {"effort": "high", "summary": "auto"}}),
    "thoughts that nobody is shown": ({"show_thinking": False, "effort": "low"}, {"reasoning": {"effort": "low"}}),
    "a budget of thoughts, which the limit includes": (
        {"thinking": 2048, "max_tokens": 500},
        {"max_output_tokens": 2548},
    ),
    "no budget": ({"thinking": ADAPTIVE, "max_tokens": 500}, {"max_output_tokens": 500}),
    "the lowest limit": ({"max_tokens": 1}, {"max_output_tokens": 16}),
    "a forced call": ({"tool_choice": "any"}, {"tool_choice": "required"}),
    "a forced tool": ({"tool_choice": "getWeather"}, {"tool_choice": {"type": "function", "name": "getWeather"}}),
    "no call": ({"tool_choice": "none"}, {"tool_choice": "none"}),
    "the model's choice": ({"tool_choice": "auto"}, {"tool_choice": None}),
    "no stop sequences": ({"stop_sequences": ["END"]}, {"stop": None}),
}


@pytest.mark.parametrize("case", SETTINGS)
async def test_the_settings_of_an_agent_are_sent(server, case):
    given, expected = SETTINGS[case]
    server.will(says(message("Hi")))
    await ask(server, **given)
    (request,) = server.requests
    assert {name: request.body.get(name) for name in expected} == expected


async def test_a_call_is_forced_only_in_the_first_answer_to_a_person(server):
    asked = ModelMessage("assistant", [tool_use("call_1", "getWeather", city="P")], NAME, NEW)
    history = [*HELLO, asked, results(("call_1", "clear"))]
    server.will(says(message("Clear.")))
    await ask(server, history, tool_choice="any")
    assert "tool_choice" not in server.requests[-1].body


class Ruling(BaseModel):
    fair: bool
    why: str = ""


async def test_an_output_type_and_a_strict_tool_are_sent_in_the_form_that_is_accepted(server):
    @tool(strict=True)
    def rate(stars: int, why: str = "") -> str:
        """Rate it."""
        return "rated"

    server.will(says(message('{"fair": true, "why": ""}')))
    await ask(server, tools=[rate], output=Ruling)
    (request,) = server.requests
    form = request.body["text"]["format"]
    assert (form["type"], form["name"], form["schema"]["required"]) == ("json_schema", "Ruling", ["fair", "why"])
    assert request.body["tools"][0]["strict"] is True


async def test_a_tool_with_a_long_name_is_called_by_a_shorter_one(server):
    @tool(name="x" * 70)
    def long_name() -> str:
        """Do it."""
        return "done"

    server.will(says(message("Hi")))
    await ask(server, tools=[long_name])
    name = server.requests[-1].body["tools"][0]["name"]
    server.will(says(call("call_1", name, item_id="fc_1")))
    (block,) = (await ask(server, tools=[long_name])).blocks
    assert (len(name) <= 64, block["name"]) == (True, "x" * 70)


def test_an_agent_that_the_api_would_refuse_is_found_by_the_check(server):
    search = ServerTool(name="web_search")
    agent = Agent(name="clerk", stop_sequences=["END"], tool_choice="fly", server_tools=[search])
    assert provider(server).problems(agent) == [
        "The Responses API does not accept stop sequences. Remove them, or set HITL_PROVIDER=openai.",
        "Only Claude has the server tools web_search. Remove them, or give the agent its own tools.",
        "tool_choice names the tool 'fly', which the agent does not have.",
    ]
