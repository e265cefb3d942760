"""Nothing that a server with OpenAI's API says carries a secret into a table, a page or a log."""

from __future__ import annotations

import json
import logging

import pytest
from django.apps import apps

from chats import actions, providers
from chats.agent import registry
from chats.agent.agent import Agent
from chats.agent.demo import getWeather
from chats.models import Step
from tests.support import people
from tests.support.anthropic_server import Close, Reply
from tests.support.chats.turns import make_chat, run
from tests.support.openai_server import KEY, OpenAIServer, answer, chunk, error, plays, refuses

pytestmark = pytest.mark.django_db(transaction=True)

clerk = Agent(name="clerk", tools=[getWeather])
OTHER_KEY = "sk-live-AbCdEf0123456789"
PLANTED = (KEY, KEY[:16], OTHER_KEY, "hunter2-hunter2")
SAYS = f"header Authorization: Bearer {KEY}, see {OTHER_KEY}, ending {KEY[-12:]}, https://me:hunter2-hunter2@proxy.example/"
PAGE = f"<html><body><h1>502</h1> upstream with {SAYS}</body></html>".encode()
BEGUN = answer("Half an answer")[:-1]
FOUND = {SAYS: {"filtered": True}}
ECHOES = {
    "a refused request": [refuses(400, "invalid_request_error", SAYS)],
    "a refused key": [refuses(401, "invalid_request_error", SAYS, "invalid_api_key")],
    "another form of errors": [Reply(items=[json.dumps({"detail": SAYS}).encode()], status=422)],
    "an error in plain text": [Reply(items=[SAYS.encode()], status=400)],
    "a page of a proxy": [Reply(items=[PAGE], status=403)],
    "pages of a broken proxy": [Reply(items=[PAGE], status=502, headers={"retry-after": "0"})] * 4,
    "errors": [refuses(500, "server_error", SAYS, retry_after="0")] * 4,
    "an error in the stream": [plays(*BEGUN, error(500, SAYS))],
    "an error of one word": [plays(*BEGUN, {"error": SAYS})],
    "rubbish": [plays(*BEGUN, f"data: {SAYS}\n\n".encode())],
    "a close": [plays(*BEGUN, f": {SAYS}\n\n".encode(), Close.EARLY)],
    "an unknown end": [plays(*BEGUN, chunk({}, f"odd {SAYS}"))],
    "a filter": [plays(*BEGUN, chunk({}, "content_filter", content_filter_results=FOUND))],
}


@pytest.fixture
def server(settings):
    settings.HITL_AGENTS = [f"{__name__}.clerk"]
    settings.HITL_PROVIDER, settings.OPENAI_API_KEY, settings.HITL_MODEL = "openai", KEY, "gpt-4o"
    with OpenAIServer() as started:
        settings.OPENAI_BASE_URL = started.base_url
        providers._make.cache_clear()
        registry.load.cache_clear()
        yield started
    providers._make.cache_clear()
    registry.load.cache_clear()


@pytest.mark.parametrize("echo", ECHOES)
def test_a_secret_that_is_echoed_is_in_no_table_on_no_page_and_in_no_log(server, caplog, client, echo):
    caplog.set_level(logging.INFO)
    server.will(*ECHOES[echo])
    chat = make_chat(people.alice())
    turn = run(actions.post_message(chat, "Hello", by=chat.owner, agent=clerk, via="chat").turn)
    client.force_login(chat.owner)
    page = client.get(chat.get_absolute_url()).content.decode()
    rows = [
        list(model.objects.values()) for model in apps.get_models() if model._meta.app_label in {"chats", "approvals"}
    ]
    everything = json.dumps([rows, page, caplog.text], default=str)
    assert [secret for secret in PLANTED if secret in everything] == []
    # Said in other words, and not lost.
    assert turn.error or Step.objects.get().stop_details
