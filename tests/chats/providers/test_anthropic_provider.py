"""The requests to Claude, by model."""

from __future__ import annotations

import pytest

from chats.agent.agent import Agent
from chats.agent.demo import getWeather, issueRefund
from chats.agent.provider import ModelMessage, ModelRequest, ProviderError
from chats.agent.server_tools import ServerTool
from chats.providers.anthropic import AnthropicProvider
from tests.support.anthropic_server import (
    KEY,
    AnthropicServer,
    redacted,
    says,
    text,
    thinking,
    tool_use,
)

NEW, MIDDLE, OLD = "claude-sonnet-5-5", "claude-sonnet-4-6", "claude-haiku-4-5"
HELLO = [ModelMessage("user", [text("Hello")])]
THOUGHT = thinking("Paris, then.", "c2ln+/==")
CALL = tool_use("toolu_1", "getWeather", city="Paris")
RESULT = ModelMessage("user", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "clear"}])
MARK = {"cache_control": {"type": "ephemeral"}}
WAIT = "Wait a minute, then send your message again."


@pytest.fixture
def claude():
    with AnthropicServer() as server:
        yield server


def agent(**given):
    return Agent(name="clerk", **{"tools": [getWeather, issueRefund], **given})


async def ask(claude, messages=HELLO, *, model=NEW, key=KEY, provider=None, agent_model="", **given):
    """Return the blocks of Claude's answer."""
    provider = provider or AnthropicProvider(api_key=key, model=model, base_url=claude.url)
    shown = [event async for event in provider.stream(ModelRequest(agent(model=agent_model, **given), messages))]
    return shown[-1].blocks


async def refusal(claude, **given):
    """Return the error message, and the number of requests."""
    with pytest.raises(ProviderError) as failure:
        await ask(claude, **given)
    return str(failure.value), len(claude.requests)


def step(*blocks, model=NEW, provider="anthropic"):
    return ModelMessage("assistant", blocks, provider, model)


def sent(claude, number=-1):
    """Return the messages of a request as (role, content)."""
    return claude.requests[number].messages


async def test_system_prompt_and_tools_are_sent_and_marked_for_caching(claude):
    claude.will(says(text("Hi")))
    await ask(claude, system="Be kind.")
    assert claude.requests[0].body == {
        "model": NEW,
        "max_tokens": 8192,
        "stream": True,
        "system": [{"type": "text", "text": "Be kind."} | MARK],
        "messages": [{"role": "user", "content": [text("Hello") | MARK]}],
        "tools": [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in (getWeather, issueRefund)
        ],
    }


async def test_tools_are_marked_for_caching_if_there_is_no_system_prompt(claude):
    claude.will(says(text("Hi")))
    await ask(claude)
    assert ["cache_control" in tool for tool in claude.requests[0].body["tools"]] == [False, True]


async def test_an_agent_names_its_own_model(claude):
    claude.will(says(text("Hi")))
    await ask(claude, agent_model=OLD)
    assert claude.requests[0].body["model"] == OLD


SAMPLING = {
    "none": ({}, MIDDLE, {"max_tokens": 8192}),
    "temperature": ({"temperature": 0.2}, MIDDLE, {"max_tokens": 8192, "temperature": 0.2}),
    "adaptive": (
        {"thinking": "adaptive"},
        NEW,
        {"max_tokens": 8192, "thinking": {"type": "adaptive", "display": "summarized"}},
    ),
    "a budget beside the answer": (
        {"thinking": 2048, "max_tokens": 1000},
        MIDDLE,
        {"max_tokens": 3048, "thinking": {"type": "enabled", "budget_tokens": 2048}},
    ),
    "thinking goes before temperature": (
        {"thinking": 2048, "temperature": 0.2},
        MIDDLE,
        {"max_tokens": 10240, "thinking": {"type": "enabled", "budget_tokens": 2048}},
    ),
}


@pytest.mark.parametrize("wish", SAMPLING)
async def test_thinking_and_temperature_are_requested(claude, wish):
    given, model, expected = SAMPLING[wish]
    claude.will(says(text("Hi")))
    await ask(claude, model=model, **given)
    body = claude.requests[0].body
    assert {name: body[name] for name in ("max_tokens", "temperature", "thinking") if name in body} == expected


MAPPED = {
    "no temperature": ({"temperature": 0.2}, NEW, {}),
    "no budget": ({"thinking": 2048}, NEW, {"thinking": {"type": "adaptive", "display": "summarized"}}),
    "not adaptive": ({"thinking": "adaptive"}, OLD, {}),
    "effort": ({"effort": "xhigh"}, NEW, {"output_config": {"effort": "xhigh"}}),
    "not so much effort": ({"effort": "xhigh"}, MIDDLE, {}),
    "no effort": ({"effort": "low"}, OLD, {}),
}


@pytest.mark.parametrize("wish", MAPPED)
async def test_what_a_model_does_not_take_is_not_sent(claude, wish):
    given, model, expected = MAPPED[wish]
    claude.will(says(text("Hi")))
    await ask(claude, model=model, **given)
    (request,) = claude.requests
    names = ("temperature", "thinking", "output_config")
    assert {name: request.body[name] for name in names if name in request.body} == expected


async def test_a_model_that_is_not_listed_is_asked_by_the_newest_rules(claude):
    claude.will(says(text("Hi")))
    await ask(claude, model="claude-lyra-7", thinking=2048, temperature=0.5, effort="max")
    body = claude.requests[0].body
    assert (body["thinking"], body["output_config"], "temperature" in body) == (
        {"type": "adaptive", "display": "summarized"},
        {"effort": "max"},
        False,
    )


async def test_a_model_that_is_not_listed_is_asked_as_the_api_says_and_a_refused_setting_is_left_out(claude):
    claude.models["claude-lyra-7"] = {
        "id": "claude-lyra-7",
        "max_input_tokens": 50_000,
        "capabilities": {
            "thinking": {"types": {"adaptive": {"supported": False}, "enabled": {"supported": True}}},
            "effort": {"supported": True, "low": {"supported": True}, "max": {"supported": False}},
        },
    }
    given = {"provider": AnthropicProvider(api_key=KEY, model="claude-lyra-7", base_url=claude.url)}
    claude.will(says(text("Hi")), says(text("Hi again")))
    # The stand-in takes no budget from this model, regardless of its list.
    await ask(claude, thinking=2048, effort="max", **given)
    await ask(claude, thinking=2048, effort="low", **given)
    asked = [(request.body.get("thinking"), request.body.get("output_config")) for request in claude.requests]
    assert asked == [({"type": "enabled", "budget_tokens": 2048}, None), (None, None), (None, {"effort": "low"})]


def test_a_too_small_thinking_budget_is_refused_at_once():
    for budget in (1, 1023, -5):
        with pytest.raises(ValueError, match="thinking must be 'adaptive' or a budget of at least 1024 tokens"):
            agent(thinking=budget)


async def test_thoughts_are_sent_back_unchanged_to_the_model_that_made_them(claude):
    blocks = [THOUGHT, redacted("Zm9v+/=="), thinking("", "omitted"), text("A look."), CALL]
    claude.will(says(*blocks, stop_reason="tool_use"), says(text("Clear.")))
    await ask(claude, thinking="adaptive")
    await ask(claude, [*HELLO, step(*blocks), RESULT], thinking="adaptive")
    assert sent(claude)[1] == ("assistant", blocks)


@pytest.mark.parametrize(("maker", "by"), [("anthropic", OLD), ("scripted", "scripted")])
async def test_the_thoughts_of_other_models_are_left_out(claude, maker, by):
    history = [*HELLO, step(THOUGHT, redacted("Zm9v"), text("A look."), CALL, provider=maker, model=by), RESULT]
    claude.will(says(text("Clear.")), says(text("You are welcome.")))
    await ask(claude, history, model=MIDDLE, thinking=2048)
    assert sent(claude)[1] == ("assistant", [text("A look."), CALL])
    thanks = [*history, step(text("Clear."), model=MIDDLE), ModelMessage("user", [text("Thank you")])]
    await ask(claude, thanks, model=MIDDLE, thinking=2048)
    assert ["thinking" in request.body for request in claude.requests] == [False, True]


async def test_the_budget_stays_if_the_model_did_not_think_between_two_calls(claude):
    claude.will(says(THOUGHT, CALL, stop_reason="tool_use"), says(text("Clear.")))
    await ask(claude, model=MIDDLE, thinking=2048)
    second = step(tool_use("toolu_2", "getWeather", city="Rome"), model=MIDDLE)
    other = ModelMessage("user", [{"type": "tool_result", "tool_use_id": "toolu_2", "content": "rain"}])
    history = [*HELLO, step(THOUGHT, CALL, model=MIDDLE), RESULT, second, other]
    await ask(claude, history, model=MIDDLE, thinking=2048)
    assert claude.requests[1].body["thinking"] == {"type": "enabled", "budget_tokens": 2048}


async def test_refused_thoughts_are_left_out_and_the_chat_continues(claude):
    # This server refuses signatures that it did not make, such as those of another account.
    given = {"provider": AnthropicProvider(api_key=KEY, model=NEW, base_url=claude.url), "thinking": "adaptive"}
    history = [*HELLO, step(THOUGHT, CALL), RESULT]
    claude.will(says(text("Clear.")), says(THOUGHT, text("Hi")), says(text("Clear.")))
    assert await ask(claude, history, **given) == [text("Clear.")]
    assert [sent(claude, number)[1][1] for number in (0, 1)] == [[THOUGHT, CALL], [CALL]]
    assert claude.requests[1].body["thinking"] == {"type": "adaptive", "display": "summarized"}
    await ask(claude, **given)
    await ask(claude, history, **given)
    assert (len(claude.requests), sent(claude)[1][1]) == (4, [THOUGHT, CALL])


EMPTY = text("(nothing said)")
WEB = [ServerTool(name="web_search")]
SEARCH = [
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
]
ODD_STEPS = {
    "only a thought": ([THOUGHT], [THOUGHT, EMPTY]),
    "a thought at the end": ([text("So."), THOUGHT], [text("So."), THOUGHT, EMPTY]),
    "a thought without signature": ([{"type": "thinking", "thinking": "Hm"}, text("So.")], [text("So.")]),
    "an orphaned result of a server tool": (
        [{"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}, text("So.")],
        [text("So.")],
    ),
    "a use of a server tool without its result": (
        [{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}, text("So.")],
        [text("So.")],
    ),
    "an MCP connector": (
        [
            {"type": "mcp_tool_use", "id": "m1", "name": "find", "server_name": "crm", "input": {}},
            {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": []},
            text("So."),
        ],
        [text("So.")],
    ),
    "a thought behind a block that is left out": ([{"type": "hologram"}, THOUGHT, text("So.")], [text("So.")]),
    "an unknown block": ([text("So."), {"type": "hologram", "data": 1}], [text("So.")]),
    "only an unknown block": ([{"type": "hologram"}], [EMPTY]),
    "the API's own tools": ([*SEARCH, THOUGHT, text("So.")], [*SEARCH, THOUGHT, text("So.")]),
}


async def test_a_search_that_was_paused_is_continued_and_sent_back_as_a_pair(claude):
    paused, found = step(text("I look."), SEARCH[0]), step(SEARCH[1], text("Found."))
    claude.will(says(*paused.content, stop_reason="pause_turn"), says(*found.content), says(text("Yes.")))
    await ask(claude, server_tools=WEB)
    await ask(claude, [*HELLO, paused], server_tools=WEB)
    await ask(claude, [*HELLO, paused, found, ModelMessage("user", [text("And?")])], server_tools=WEB)
    assert [content for _, content in sent(claude)[1:3]] == [[text("I look."), SEARCH[0]], [SEARCH[1], text("Found.")]]


@pytest.mark.parametrize("odd", ODD_STEPS)
async def test_an_unusual_answer_is_sent_back_in_an_accepted_form(claude, odd):
    blocks, expected = ODD_STEPS[odd]
    claude.will(says(*blocks), says(text("Yes.")))
    await ask(claude, server_tools=WEB)
    await ask(claude, [*HELLO, step(*blocks), ModelMessage("user", [text("And?")])], server_tools=WEB)
    assert sent(claude)[1] == ("assistant", expected)
    assert len(claude.requests) == 2


async def test_a_search_beside_a_call_runs_when_the_call_has_its_result(claude):
    both = step(text("I look."), SEARCH[0], CALL)
    found = step(SEARCH[1], THOUGHT, text("Found."))
    claude.will(says(*both.content, stop_reason="tool_use"), says(*found.content), says(text("Yes.")))
    await ask(claude, server_tools=WEB)
    await ask(claude, [*HELLO, both, RESULT], server_tools=WEB)
    await ask(claude, [*HELLO, both, RESULT, found, ModelMessage("user", [text("And?")])], server_tools=WEB)
    assert [content for _, content in sent(claude)[1:4]] == [[*message.content] for message in (both, RESULT, found)]


async def test_a_search_that_waits_is_left_out_if_it_is_no_longer_offered_or_cannot_run_any_more(claude):
    paused, both = step(text("I look."), SEARCH[0]), step(text("I look."), SEARCH[0], CALL)
    claude.will(*[says(text("Yes."))] * 3)
    await ask(claude, [*HELLO, paused])
    await ask(claude, [*HELLO, both, RESULT])
    await ask(claude, [*HELLO, both, RESULT, ModelMessage("user", [text("And?")])], server_tools=WEB)
    kept = [text("I look."), CALL]
    assert [sent(claude, number)[1][1] for number in range(3)] == [[text("I look.")], kept, kept]


async def test_an_agent_without_tools_can_answer_after_calls_in_the_history(claude):
    claude.will(says(text("Clear.")))
    assert await ask(claude, [*HELLO, step(CALL), RESULT], tools=[]) == [text("Clear.")]
    assert claude.requests[0].body["tool_choice"] == {"type": "none"}
