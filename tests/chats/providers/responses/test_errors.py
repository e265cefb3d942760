"""Error messages when a server with the Responses API fails, is silent, or breaks the protocol."""

from __future__ import annotations

import json
import logging
import threading

import pytest
from django.apps import apps

from chats import providers
from chats.agent import registry
from chats.agent.agent import Agent
from chats.agent.events import ModelSilent
from chats.agent.provider import ModelMessage, ModelRequest, ProviderError
from chats.models import Step
from chats.providers.openai import ResponsesProvider
from tests.chats.providers.responses.test_history import sent
from tests.chats.providers.responses.test_request import HELLO, ask, provider, read, server
from tests.chats.providers.test_openai_provider import PDF, PNG
from tests.chats.providers.test_openai_secrets import OTHER_KEY, PAGE, PLANTED, SAYS
from tests.support import people
from tests.support.anthropic_server import Close, Reply, text
from tests.support.chats.turns import converse
from tests.support.responses.server import (
    KEY,
    added,
    answer,
    begins,
    done,
    ends,
    error,
    fails,
    message,
    plays,
    refuses,
    says,
    thought,
)

__all__ = ["server"]

clerk = Agent(name="clerk")
HI = message("Hi")
HALF = answer(message("Half an answer"))[:-4]

FAILED = {
    "a prompt that is not allowed": (
        plays(*begins(), fails("invalid_prompt", "flagged"), done=False),
        "The model's server did not accept the request: flagged",
    ),
    "too long": (
        plays(*begins(), fails("context_length_exceeded", "too many"), done=False),
        "This chat is too long for the model. Start a new chat.",
    ),
    "no credit": (
        plays(*begins(), error("insufficient_quota"), done=False),
        "The account of OPENAI_API_KEY has no credit left. Add credit, then send your message again.",
    ),
    "a stream that is not allowed": (
        refuses(
            400, "invalid_request_error", "Your organization must be verified to stream this model.", param="stream"
        ),
        "The model's server did not accept the request: Your organization must be verified to stream this model.",
    ),
    "a server without this API": (
        Reply(items=[b"404 page not found"], status=404),
        "The server at this address has no model gpt-5.5. Check HITL_MODEL and OPENAI_BASE_URL.",
    ),
    "a failure after the first word": (
        plays(*HALF, fails("server_error", "boom"), done=False),
        "The model's server has a problem right now. Wait a minute, then send your message again.",
    ),
    "an end without a word": (
        plays(*HALF, done=False),
        "The model's answer ended before it was complete. Send your message again.",
    ),
    "an end that is not whole": (
        plays(*HALF, ends(), done=False),
        "The model's answer ended before it was complete. Send your message again.",
    ),
}


@pytest.mark.parametrize("case", FAILED)
async def test_a_failed_answer_is_told_at_once(server, case):
    reply, words = FAILED[case]
    server.will(reply)
    with pytest.raises(ProviderError) as failure:
        await ask(server)
    assert (str(failure.value), len(server.requests)) == (words, 1)


PASSING = {
    "a failure": fails("server_error"),
    "a limit": fails("rate_limit_exceeded"),
    "a failure of no kind": {"type": "response.failed", "response": {}},
    "an error of no kind": {"type": "error"},
}


@pytest.mark.parametrize("case", PASSING)
async def test_an_answer_that_fails_before_its_first_word_is_asked_for_again(server, case):
    # The server has begun to think, invisibly.
    server.will(plays(*begins(), added(0, thought()), PASSING[case], done=False), says(HI))
    assert ((await ask(server)).blocks[0]["text"], len(server.requests)) == ("Hi", 2)


async def test_a_model_that_thinks_is_waited_for_beyond_the_patience_for_a_silent_server(server):
    thinks = threading.Event()
    by = provider(server, patience=0.3, told_after=0.05)
    one = thought("rs_1")
    server.will(Reply(items=[*says().items[:2], *plays(added(0, one), done=False).items, thinks]))
    server.replies[0].items.extend(plays(done(0, one), done(1, HI), ends(), done=False).items)
    seen = []
    async for event in by.stream(ModelRequest(clerk, HELLO)):
        seen.append(event)
        # Readers are told of the silence, each time after twice the time.
        if isinstance(event, ModelSilent) and sum(isinstance(each, ModelSilent) for each in seen) == 4:
            thinks.set()
    assert (seen[-1].stop_reason, len(server.requests)) == ("end_turn", 1)


async def test_a_server_may_be_silent_for_as_long_as_the_patience_is_set():
    timeouts = [
        (await ResponsesProvider(api_key=KEY, model="gpt-5.5", patience=patience)._clients.of_loop()).timeout
        for patience in (10, 600)
    ]
    assert [timeout.read for timeout in timeouts] == [120, 600]


async def test_a_server_that_only_says_that_it_has_begun_is_not_waited_for(server):
    by = provider(server, patience=0.2, told_after=0.05)
    server.will(Reply(items=[*plays(*begins(), done=False).items, threading.Event()]))
    with pytest.raises(ProviderError) as failure:
        await ask(server, by=by)
    assert str(failure.value) == "The model's server did not answer in time. Send your message again."


REFUSED_FILES = {
    "when it is asked": refuses(
        400, "invalid_request_error", "This model does not support image inputs.", param="input"
    ),
    "when it reads them": plays(*begins(), fails("image_parse_error", "The image could not be parsed."), done=False),
}


@pytest.mark.parametrize("case", REFUSED_FILES)
async def test_files_that_a_model_refuses_are_left_out_and_it_is_told(server, case):
    files = [{"type": "image", "source": PNG}, {"type": "document", "source": PDF}]
    server.will(REFUSED_FILES[case])
    (asked,) = await sent(server, ModelMessage("user", [*files, text("Read this.")]))
    assert [part["type"] for part in asked["content"]] == ["input_text"] * 3
    assert asked["content"][2] == read("Read this.")


ECHOES = {
    "a failed answer": [plays(*HALF, fails("server_error", SAYS), done=False)],
    "a refused prompt": [plays(*begins(), fails("invalid_prompt", SAYS), done=False)],
    "an error in the stream": [plays(*HALF, error("server_error", SAYS), done=False)],
    "an error of an odd code": [plays(*HALF, error(SAYS, SAYS), done=False)],
    "an unknown end": [says(message("So far."), reason=f"odd {SAYS}")],
    "a refused request": [refuses(400, "invalid_request_error", SAYS)],
    "rubbish": [plays(*HALF, f"data: {SAYS}\n\n".encode(), done=False)],
    "a close": [plays(*HALF, f": {SAYS}\n\n".encode(), Close.EARLY, done=False)],
    "pages of a broken proxy": [Reply(items=[PAGE], status=502, headers={"retry-after": "0"})] * 4,
    "a name of the model": [says(HI, model=OTHER_KEY, id=SAYS)],
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("echo", ECHOES)
def test_a_secret_that_is_echoed_is_in_no_table_on_no_page_and_in_no_log(server, settings, caplog, client, echo):
    caplog.set_level(logging.INFO)
    settings.HITL_AGENTS, settings.OPENAI_BASE_URL = [f"{__name__}.clerk"], server.base_url
    settings.HITL_PROVIDER, settings.OPENAI_API_KEY, settings.HITL_MODEL = "openai-responses", KEY, "gpt-5.5"
    providers._make.cache_clear()
    registry.load.cache_clear()
    server.will(*ECHOES[echo])
    turn = converse(people.alice(), "Hello")
    client.force_login(turn.chat.owner)
    page = client.get(turn.chat.get_absolute_url()).content.decode()
    models = [model for model in apps.get_models() if model._meta.app_label in {"chats", "approvals"}]
    everything = json.dumps([[list(model.objects.values()) for model in models], page, caplog.text], default=str)
    providers._make.cache_clear()
    registry.load.cache_clear()
    assert [secret for secret in PLANTED if secret in everything] == []
    # Said in other words, and not lost.
    assert turn.error or Step.objects.exists()
