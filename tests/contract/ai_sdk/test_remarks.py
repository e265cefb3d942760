"""The clients from npm: the end of an answer, its sources, and a model that was silent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.ai_sdk.conftest import HERE, Driver
from tests.contract.ai_sdk.test_real_clients import Chat
from tests.support.anthropic_server import KEY, START, AnthropicServer, Close, Reply, block_events, end, refuses, text
from tests.support.chats.claude import ends
from tests.support.processes.server import Server
from tests.support.services import install_packages, real_processes  # noqa: F401


@pytest.fixture(scope="module")
def claude() -> Iterator[AnthropicServer]:
    with AnthropicServer() as running:
        yield running


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory,
    claude: AnthropicServer,
    real_processes: None,  # noqa: F811
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("claude")
    given = {"HITL_PROVIDER": "anthropic", "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": claude.url}
    # Its answers can be given once: a slow machine must not make the server ask again.
    with Server(folder, HITL_MODEL="claude-sonnet-4-6", HITL_MODEL_PATIENCE="1800", **given) as running:
        yield running


@pytest.fixture(scope="module")
def key(server: Server) -> str:
    return server.key("approver")


@pytest.fixture(scope="module", params=["6", "7"])
def driver(request: pytest.FixtureRequest, server: Server, key: str) -> Iterator[Driver]:
    install_packages(HERE)
    running = Driver(request.param, server.address, key)
    yield running
    running.close()


def kept(chat: Chat) -> list[tuple[str, str]]:
    """Return the last message that the client holds: types and texts of its parts."""
    return [
        (part["type"], part.get("text") or part.get("url") or part.get("data", {}).get("code", ""))
        for part in chat.last["parts"]
        if part["type"] != "step-start"
    ]


def test_an_answer_that_was_cut_off_keeps_its_remark(claude, driver, server, key):
    claude.will(ends(text("So far"), stop_reason="max_tokens"))
    chat = Chat(driver, server, key).do("send", text="Hello").at_rest(posts=[200])
    assert kept(chat) == [("text", "So far"), ("data-remark", "max_tokens")]


def test_an_answer_that_was_broken_off_keeps_its_text_and_goes_on(claude, driver, server, key):
    claude.will(Reply(items=[START, *block_events(0, text("Half an"))[:-1], Close.EARLY]))
    chat = Chat(driver, server, key).do("send", text="Hello")
    assert (chat.shown["status"], kept(chat)) == ("error", [("text", "Half an"), ("data-remark", "broken_off")])
    claude.will(ends(text(" hour."), stop_reason="end_turn"))
    chat.do("send", text="Continue")
    assert (chat.shown["status"], kept(chat)) == ("ready", [("text", " hour.")])


def test_a_source_is_a_part_of_the_message(claude, driver, server, key):
    cited = {"type": "web_search_result_location", "url": "https://a.example/", "title": "A", "cited_text": "…"}
    start, *deltas, stop = block_events(0, text("Bamboo."))
    citation = {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": cited}}
    claude.will(Reply(items=[START, start, *deltas, citation, stop, *end()]))
    chat = Chat(driver, server, key).do("send", text="Pandas?").at_rest(posts=[200])
    assert kept(chat) == [("text", "Bamboo."), ("source-url", "https://a.example/")]


def test_nothing_of_a_silent_model_stays_in_the_message(claude, driver, server, key):
    claude.will(refuses(529, "overloaded_error", retry_after="0"), ends(text("Here."), stop_reason="end_turn"))
    chat = Chat(driver, server, key).do("send", text="Hello").at_rest(posts=[200])
    assert kept(chat) == [("text", "Here.")]
