"""Error messages when a server with OpenAI's API fails, is silent, or is not set up."""

from __future__ import annotations

import sys
import threading
from itertools import chain, repeat

import pytest

from chats import providers
from chats.agent.agent import Agent
from chats.agent.provider import ModelMessage, ModelRequest, ProviderError
from chats.providers.files import refuses_files
from chats.providers.openai import OpenAIProvider
from chats.providers.openai import provider as openai_provider
from tests.chats.providers.test_openai_provider import HELLO, OLD, PNG, ask, provider, server
from tests.support.anthropic_server import Close, Reply, text
from tests.support.chats.streams import read_into
from tests.support.openai_server import KEY, answer, chunk, encode, plays, refuses, says
from tests.support.root import ROOT

__all__ = ["server"]

REFUSALS = {
    "401": (
        refuses(401, "invalid_request_error", f"Incorrect API key provided: {KEY}", "invalid_api_key"),
        "The model's server rejected the API key. Check OPENAI_API_KEY.",
    ),
    "no credit": (
        refuses(429, "insufficient_quota", "You exceeded your quota", "insufficient_quota"),
        "The account of OPENAI_API_KEY has no credit left. Add credit, then send your message again.",
    ),
    "403": (
        refuses(403, "permission_error"),
        f"The API key does not have access to the model {OLD}. Check OPENAI_API_KEY and HITL_MODEL.",
    ),
    "404": (
        Reply(items=[b"404 page not found"], status=404),
        f"The server at this address has no model {OLD}. Check HITL_MODEL and OPENAI_BASE_URL.",
    ),
    "too long": (
        refuses(400, "invalid_request_error", "too many", "context_length_exceeded"),
        "This chat is too long for the model. Start a new chat.",
    ),
    "429": (
        refuses(429, "rate_limit_error", retry_after="3541"),
        "The rate limit of the model's server is reached. Wait 60 minutes, then send your message again.",
    ),
    "another form of errors": (
        Reply(items=[b'{"detail": "unknown voice"}'], status=422),
        "The model's server did not accept the request: unknown voice",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
async def test_a_permanent_error_is_reported_at_once(server, case):
    reply, words = REFUSALS[case]
    server.will(reply)
    with pytest.raises(ProviderError) as failure:
        await ask(server, model=OLD)
    assert (str(failure.value), len(server.requests)) == (words, 1)


async def test_silence_before_the_first_output_is_told_and_bounded(server):
    silent = provider(server, model=OLD, told_after=0.05, patience=0.18)
    server.will(Reply(items=[threading.Event()]))
    events = []
    with pytest.raises(ProviderError) as failure:
        await read_into(events, silent.stream(ModelRequest(Agent(name="clerk"), HELLO)))
    assert {(type(event).__name__, event.attempt, event.attempts) for event in events} == {("ModelSilent", 1, 4)}
    assert str(failure.value) == "The model's server did not answer in time. Send your message again."


async def test_an_answer_does_not_wait_long_for_its_usage(server):
    server.will(plays(*says("Hi").items[:-2], Close.EARLY, done=False))
    assert await ask(server, model=OLD) == [text("Hi")]


def forever(*events):
    """Play events, and repeat the last one for ever."""
    return Reply(items=map(encode, chain(events, repeat(events[-1]))))


async def test_a_server_that_keeps_sending_after_the_end_does_not_keep_the_answer(server, monkeypatch):
    server.will(forever(*answer("Hi"), chunk({})), forever(*answer("Hi"), chunk({})))
    assert await ask(server, by=provider(server, longest=1.0), model=OLD) == [text("Hi")]
    # Nor is it kept until the longest answer would end.
    monkeypatch.setattr(openai_provider, "USAGE_WAIT", 0.1)
    assert await ask(server, model=OLD) == [text("Hi")]


async def test_an_answer_that_takes_too_long_is_cut_off(server):
    server.will(forever(*answer("Hi")[:-1], chunk({})))
    with pytest.raises(ProviderError) as failure:
        await ask(server, by=provider(server, longest=0.3), model=OLD)
    assert str(failure.value) == "The model's answer took too long and was cut off. Ask for less at a time."


UNUSABLE = {
    "no key": (
        {"api_key": "", "base_url": "https://api.openai.com/v1"},
        "No API key for OpenAI is configured. Set OPENAI_API_KEY, or OPENAI_BASE_URL.",
    ),
    "an odd key": ({"api_key": "sk-ö"}, "OPENAI_API_KEY contains invalid characters. Copy it again."),
    "no model": ({"model": ""}, "No model is configured. Set HITL_MODEL to a model of the server at OPENAI_BASE_URL."),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_missing_setting_is_reported_before_any_request(case):
    given, words = UNUSABLE[case]
    with pytest.raises(ProviderError) as failure:
        OpenAIProvider(**{"api_key": "", "model": OLD, "base_url": "http://127.0.0.1:9/v1", **given})
    assert str(failure.value) == words


@pytest.mark.parametrize("name", providers.OPENAI)
def test_without_its_package_the_provider_says_what_to_install(monkeypatch, settings, name):
    settings.HITL_PROVIDER, settings.OPENAI_API_KEY, settings.HITL_MODEL = name, "sk-other", OLD
    loaded = [
        each for each in sys.modules if each.split(".")[0] == "openai" or each.startswith("chats.providers.openai")
    ]
    for module in loaded:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "openai", None)
    # Only a process that has loaded the provider before has it as an attribute.
    monkeypatch.delattr(providers, "openai", raising=False)
    with pytest.raises(ProviderError) as failure:
        providers.current()
    words = f'HITL_PROVIDER={name} needs the package openai. Install it: pip install "openai>=3.54,<4"'
    assert str(failure.value) == words
    wanted = words.split("install ")[1].strip('"')
    named = [ROOT / path for path in ("pyproject.toml", "tests/requirements.txt", "docs/how-to/use-another-model.md")]
    assert [path.name for path in named if wanted not in path.read_text()] == []


ABOUT_FILES = ("image_url is not supported", "No vision here", "unknown part: document_url", "Too many PDFs", "a file")
ABOUT_OTHERS = (
    "See our documentation",
    "The model is not provisioned",
    "Revision 3 is needed",
    "a profile",
    "undocumented",
)


def test_only_words_about_files_say_that_files_are_refused():
    request = ModelRequest(Agent(name="clerk"), [ModelMessage("user", [{"type": "image", "source": PNG}])])
    told = [said for said in (*ABOUT_FILES, *ABOUT_OTHERS) if refuses_files(request, 400, said)]
    assert told == list(ABOUT_FILES)
