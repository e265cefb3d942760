"""An agent's settings for its model's provider, and the errors of invalid ones when the agent is made."""

from __future__ import annotations

from typing import Any

import pytest

from chats.agent.agent import Agent
from chats.agent.demo import getWeather
from chats.agent.mcp_servers import McpServer
from chats.agent.server_tools import ServerTool
from chats.agent.tools import tool
from chats.agent.uploads import UploadedFile

SERVER = {"name": "mill", "url": "https://mcp.mill.example/sse", "tools": ["list_prices"]}
MILL = McpServer(**SERVER, needs_approval=True)
FREE = McpServer(**SERVER, runs_without_approval=True)
FILE = UploadedFile(file_id="file_011CNha8iCJcU1wXNR6q4V8w")


@tool(deferred=True)
def audit(year: int) -> str:
    """Audit a year."""
    return "fine"


SERVERS: dict[str, tuple[dict[str, Any], str]] = {
    "nothing said of approvals": ({}, "or runs_without_approval=True to accept any call"),
    "both": (
        {"needs_approval": True, "runs_without_approval": True},
        "or runs_without_approval=True to accept any call",
    ),
    "all tools": ({"tools": []}, "list the names of the tools that may be called"),
    "one text of tools": ({"tools": "list_prices"}, "list the names of the tools that may be called"),
    "http": ({"url": "http://mcp.mill.example"}, "the url must start with https:// and must not contain a username"),
    "a password": (
        {"url": "https://a:b@mcp.mill.example"},
        "the url must start with https:// and must not contain a username",
    ),
    "no url": ({"url": "https://[mill"}, "the url must start with https:// and must not contain a username"),
    "a name": ({"name": "the mill"}, "the name must have 1 to 64 letters, digits, _ and -"),
}


@pytest.mark.parametrize("case", SERVERS)
def test_an_mcp_server_that_makes_no_sense_or_is_not_opted_in_is_refused_in_words(case):
    given, words = SERVERS[case]
    with pytest.raises(ValueError, match="MCP server") as refused:
        McpServer(**{**SERVER, **given})
    assert str(refused.value).endswith(words)


def test_the_token_of_an_mcp_server_is_not_shown_and_may_be_fetched():
    fetched = McpServer(**SERVER, needs_approval=True, token=lambda: "s3cret")
    given = McpServer(**SERVER, needs_approval=True, token="s3cret")
    assert (fetched.secret, given.secret, "s3cret" in repr([fetched, given])) == ("s3cret", "s3cret", False)


def test_an_mcp_server_that_needs_an_approval_is_offered_after_it():
    agent = Agent(name="clerk", mcp_servers=[MILL])
    before, after = agent.offered([]), agent.offered(["ask_to_use_mill"])
    assert ([each.name for each in before.tools], before.mcp_servers) == (["ask_to_use_mill"], [])
    assert (after.tools, after.mcp_servers) == ([], [FREE])


def test_a_file_for_the_container_waits_for_the_approval_of_code_execution():
    code = ServerTool(name="code_execution", needs_approval=True)
    agent = Agent(name="clerk", server_tools=[code], files=[FILE, UploadedFile(file_id="file_2", use="container")])
    offered = [agent.offered(approved).files for approved in ([], ["ask_to_use_code_execution"])]
    assert offered == [[FILE], list(agent.files)]


AGENTS: dict[str, tuple[dict[str, Any], str]] = {
    "a search of another kind": ({"tools": [audit], "tool_search": "magic"}, "tool_search must be one of bm25, regex"),
    "deferred and no search": (
        {"tools": [audit]},
        "the tool audit is deferred, so set tool_search; otherwise the model cannot find it",
    ),
    "a search and nothing to find": (
        {"tools": [getWeather], "tool_search": "bm25"},
        "tool_search finds deferred tools, but no tool is deferred",
    ),
    "a forced deferred tool": (
        {"tools": [audit], "tool_search": "bm25", "tool_choice": "audit"},
        "tool_choice names audit, which is deferred: nothing is loaded that could be forced",
    ),
    "two servers": ({"mcp_servers": [FREE, FREE]}, "two MCP servers have the same name"),
    "a gated server with the name of a tool": (
        {"mcp_servers": [MILL], "server_tools": [], "tools": [MILL.asking]},
        "two tools have the same name",
    ),
    "a file twice": ({"files": [FILE, FILE]}, "a file is listed twice"),
    "a container without code": (
        {"files": [UploadedFile(file_id="file_1", use="container")]},
        "a file for the container needs the server tool code_execution",
    ),
    "one word of fallbacks": (
        {"fallbacks": "claude-opus-5-5"},
        'fallbacks must be "default" or a list of other models without duplicates',
    ),
    "itself": (
        {"model": "claude-opus-5-5", "fallbacks": ["claude-opus-5-5"]},
        'fallbacks must be "default" or a list of other models without duplicates',
    ),
    "an empty name": ({"fallbacks": [""]}, 'fallbacks must be "default" or a list of other models without duplicates'),
    "no dictionary": ({"extra": ["speed"]}, "extra must be a dictionary of arguments of the provider's API"),
    "no name": ({"extra": {"Speed!": 1}}, "extra: 'Speed!' is not the name of an argument"),
    "a field of the agent": (
        {"extra": {"max_tokens": 5}},
        "cannot be passed through; set the agent's max_tokens instead",
    ),
    "ours": ({"extra": {"messages": []}}, "extra: messages cannot be passed through; Pausepoint sets it"),
    "a container of its own": (
        {"extra": {"container": "c"}},
        "extra: container cannot be passed through; Pausepoint sets it",
    ),
    "state elsewhere": (
        {"extra": {"thread": {"type": "create"}}},
        "cannot be passed through, because the provider would keep the conversation, which has to be stored here",
    ),
    "betas": ({"extra": {"betas": "x"}}, "betas must be a list of at most 10 names such as fast-mode-2026-02-01"),
    "a header in a beta": (
        {"extra": {"betas": ["a\nx-api-key: b"]}},
        "betas must be a list of at most 10 names such as fast-mode-2026-02-01",
    ),
    "no JSON": ({"extra": {"top_p": float("nan")}}, "NaN and Infinity are not JSON"),
    "a class": ({"extra": {"top_p": FILE}}, "extra must be JSON of at most 10,000 bytes: "),
    "too much": ({"extra": {"metadata": {"user_id": "x" * 20_000}}}, "larger than 10,000 bytes"),
}


@pytest.mark.parametrize("case", AGENTS)
def test_an_unknown_or_impossible_combination_is_refused_in_words_when_the_agent_is_made(case):
    given, words = AGENTS[case]
    with pytest.raises(ValueError, match="agent clerk: ") as refused:
        Agent(**{"name": "clerk", **given})
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"file_id": "../etc/passwd"}, "the id must start with file_, as returned by the provider's Files API"),
        ({"file_id": "file_1", "use": "audio"}, "use must be one of document, image, container"),
        ({"file_id": "file_1", "use": "image", "title": "A cake"}, "only a document can have a title"),
    ],
)
def test_an_uploaded_file_that_makes_no_sense_is_refused_in_words(given, words):
    with pytest.raises(ValueError, match="uploaded file") as refused:
        UploadedFile(**given)
    assert str(refused.value).endswith(words)
