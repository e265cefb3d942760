"""The requests to Claude, their retries, and the errors that people are shown."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from chats.agent.agent import Agent
from chats.agent.demo import getWeather, issueRefund
from chats.agent.provider import ModelMessage, ModelRequest, ProviderError
from chats.providers.anthropic import AnthropicProvider
from tests.support.anthropic_server import (
    KEY,
    AnthropicServer,
    Close,
    Reply,
    answer,
    error,
    redacted,
    refuses,
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
    return [(message["role"], message["content"]) for message in claude.requests[number].body["messages"]]


async def test_system_prompt_and_tools_are_sent_and_marked_for_caching(claude):
    claude.will(says(text("Hi")))
    await ask(claude, system="Be kind.")
    assert claude.requests[0].body == {
        "model": NEW,
        "max_tokens": 8192,
        "stream": True,
        "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": [text("Hello")]}],
        "tools": [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema} | mark
            for tool, mark in ((getWeather, {}), (issueRefund, {"cache_control": {"type": "ephemeral"}}))
        ],
    }


async def test_an_agent_names_its_own_model(claude):
    claude.will(says(text("Hi")))
    await ask(claude, agent_model=OLD)
    assert claude.requests[0].body["model"] == OLD


SAMPLING = {
    "none": ({}, MIDDLE, {"max_tokens": 8192}),
    "temperature": ({"temperature": 0.2}, MIDDLE, {"max_tokens": 8192, "temperature": 0.2}),
    "adaptive": ({"thinking": "adaptive"}, NEW, {"max_tokens": 8192, "thinking": {"type": "adaptive"}}),
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


CONCESSIONS = {
    "no temperature": ({"temperature": 0.2}, NEW, {}),
    "no budget": ({"thinking": 2048}, NEW, {"thinking": {"type": "adaptive"}}),
    "not adaptive": ({"thinking": "adaptive"}, OLD, {}),
}


@pytest.mark.parametrize("concession", CONCESSIONS)
async def test_an_unsupported_feature_is_left_out_from_then_on(claude, concession):
    given, model, expected = CONCESSIONS[concession]
    given = given | {"provider": AnthropicProvider(api_key=KEY, model=model, base_url=claude.url)}
    claude.will(says(text("Hi")), says(text("Hi again")))
    assert [await ask(claude, **given), await ask(claude, **given)] == [[text("Hi")], [text("Hi again")]]
    (_, second, third) = claude.requests
    assert {name: second.body[name] for name in ("temperature", "thinking") if name in second.body} == expected
    assert second.body == third.body


def test_a_too_small_thinking_budget_is_refused_at_once():
    for budget in (1, 1023, -5):
        with pytest.raises(ValueError, match="thinking is 'adaptive' or a budget of at least 1024 tokens"):
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
    assert claude.requests[1].body["thinking"] == {"type": "adaptive"}
    await ask(claude, **given)
    await ask(claude, history, **given)
    assert (len(claude.requests), sent(claude)[1][1]) == (4, [THOUGHT, CALL])


EMPTY = text("(nothing said)")
ODD_STEPS = {
    "only a thought": ([THOUGHT], [THOUGHT, EMPTY]),
    "a thought at the end": ([text("So."), THOUGHT], [text("So."), THOUGHT, EMPTY]),
    "a thought without signature": ([{"type": "thinking", "thinking": "Hm"}, text("So.")], [text("So.")]),
    "an unknown block": ([text("So."), {"type": "hologram", "data": 1}], [text("So.")]),
    "only an unknown block": ([{"type": "hologram"}], [EMPTY]),
    "the API's own tools": (
        [{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}, text("So.")],
        [{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}, text("So.")],
    ),
}


@pytest.mark.parametrize("odd", ODD_STEPS)
async def test_an_unusual_answer_is_sent_back_in_an_accepted_form(claude, odd):
    blocks, expected = ODD_STEPS[odd]
    claude.will(says(THOUGHT), says(text("Yes.")))
    await ask(claude)
    await ask(claude, [*HELLO, step(*blocks), ModelMessage("user", [text("And?")])])
    assert sent(claude)[1] == ("assistant", expected)
    assert len(claude.requests) == 2


async def test_an_agent_without_tools_can_answer_after_calls_in_the_history(claude):
    claude.will(says(text("Clear.")))
    assert await ask(claude, [*HELLO, step(CALL), RESULT], tools=[]) == [text("Clear.")]
    assert claude.requests[0].body["tool_choice"] == {"type": "none"}


TOO_LONG = "This chat is too long for the model. Start a new chat."
NO_CREDIT = "The account of ANTHROPIC_API_KEY has no credit left. Add credit, then send your message again."
NO_ACCESS = f"The API key does not have access to the model {NEW}. Check ANTHROPIC_API_KEY and HITL_MODEL."
LIMIT = f"Claude's rate limit is reached. {WAIT}"
REFUSALS = {
    "403": (refuses(403, "permission_error"), NO_ACCESS),
    "404": (refuses(404, "not_found_error"), f"No model is named {NEW}. Check HITL_MODEL, or the agent's model."),
    "402": (refuses(402, "billing_error"), NO_CREDIT),
    "credit": (refuses(400, "invalid_request_error", "Your credit balance is too low"), NO_CREDIT),
    "400": (refuses(400, "invalid_request_error", "prompt is too long: 2 tokens > 1 maximum"), TOO_LONG),
    "413": (refuses(413, "request_too_large"), TOO_LONG),
    "other": (refuses(400, "invalid_request_error", "no"), "Claude did not accept the request: no"),
    "429": (refuses(429, "rate_limit_error", retry_after="61"), LIMIT.replace("a minute", "2 minutes")),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
async def test_a_permanent_error_is_reported_at_once(claude, case):
    reply, words = REFUSALS[case]
    claude.will(reply)
    assert await refusal(claude) == (words, 1)


async def test_a_long_retry_after_is_not_waited_for(claude):
    claude.will(refuses(429, "rate_limit_error", retry_after=formatdate(time.time() + 3600, usegmt=True)))
    assert await refusal(claude) == (LIMIT.replace("a minute", "60 minutes"), 1)


async def test_a_wrong_key_is_reported_at_once(claude):
    assert await refusal(claude, key="sk-ant-wrong") == ("Claude rejected the API key. Check ANTHROPIC_API_KEY.", 1)


USELESS_KEYS = {
    "": "No API key for Claude is configured. Set ANTHROPIC_API_KEY, or HITL_PROVIDER=scripted.",
    "sk-änt": "ANTHROPIC_API_KEY contains invalid characters. Copy it again.",
}


@pytest.mark.parametrize("key", USELESS_KEYS)
def test_no_request_is_sent_without_a_valid_key(key):
    with pytest.raises(ProviderError) as failure:
        AnthropicProvider(api_key=key, model=NEW)
    assert str(failure.value) == USELESS_KEYS[key]


PASSING = {
    "500": refuses(500, "api_error", retry_after="0"),
    "529": refuses(529, "overloaded_error", retry_after="0"),
    "429": refuses(429, "rate_limit_error", retry_after="0"),
    "an error before the first block": Reply(
        items=[answer()[0], error("overloaded_error")], headers={"retry-after": "0"}
    ),
    "an early close": Reply(items=[answer()[0], Close.EARLY]),
    "a clean close": Reply(items=[answer()[0], Close.CLEAN]),
    "rubbish": Reply(items=[b"event: message_start\ndata: <html>\n\n"]),
    "no stream at all": Reply(items=[b"<html>Welcome to the proxy</html>"]),
}


@pytest.mark.parametrize("case", PASSING)
async def test_a_failure_before_the_first_output_is_retried(claude, case):
    claude.will(PASSING[case], says(text("Hi")))
    assert await ask(claude) == [text("Hi")]
    assert len(claude.requests) == 2
