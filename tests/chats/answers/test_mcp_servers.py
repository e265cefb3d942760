"""MCP servers whose tools Claude's API calls: sent only as far as a person has agreed, stored, continued and shown."""

from __future__ import annotations

import pytest

from approvals.states import Verdict
from chats.agent.agent import Agent
from chats.agent.demo import issueRefund
from chats.agent.mcp_servers import McpServer
from chats.models import Step
from chats.states import TurnState
from tests.chats.answers.test_provider_features import REFUND, begins, data_of, resumes
from tests.chats.answers.test_server_tools import claude
from tests.support.anthropic_server import refuses, says, text, thinking, tool_use
from tests.support.chats.turns import only_request, run, say

__all__ = ["claude"]

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = "mill-token-4711-abcdef"
MILL = {"name": "mill", "url": "https://mcp.mill.example/sse", "tools": ["list_prices"], "token": lambda: TOKEN}
open_buyer = Agent(
    name="open_buyer",
    tools=[issueRefund],
    mcp_servers=[McpServer(**MILL, runs_without_approval=True)],
    thinking="adaptive",
)
buyer = Agent(name="buyer", tools=[issueRefund], mcp_servers=[McpServer(**MILL, needs_approval=True)])

ASKED = [
    {
        "type": "mcp_tool_use",
        "id": "mcptoolu_1",
        "name": "list_prices",
        "server_name": "mill",
        "input": {"of": "flour"},
    },
    {
        "type": "mcp_tool_result",
        "tool_use_id": "mcptoolu_1",
        "is_error": False,
        "content": [{"type": "text", "text": "80 cents"}],
    },
]


def test_what_an_mcp_server_answered_is_sent_back_unchanged_over_a_pause_and_shown(claude, settings):
    answer = [thinking("I ask the mill.", "c2ln"), *ASKED, REFUND]
    claude.will(says(*answer, stop_reason="tool_use"), says(text("80 cents.")))
    turn = resumes(begins(settings, "open_buyer", module=__name__))
    assert (turn.state, claude.refused) == (TurnState.COMPLETED, [])
    first, second = claude.requests
    assert (second.messages[1], second.headers["anthropic-beta"]) == (("assistant", answer), "mcp-client-2025-11-20")
    assert first.body["mcp_servers"] == [
        {"type": "url", "url": MILL["url"], "name": "mill", "authorization_token": TOKEN},
    ]
    toolset = first.body["tools"][-1]
    assert (toolset["type"], toolset["mcp_server_name"]) == ("mcp_toolset", "mill")
    assert (toolset["default_config"], toolset["configs"]) == ({"enabled": False}, {"list_prices": {"enabled": True}})
    assert data_of(turn, "data-server-tool") == [
        {"name": "list_prices", "input": {"of": "flour"}, "server": "mill", "text": "80 cents"},
    ]


def test_an_mcp_server_that_needs_an_approval_is_not_sent_before_it_and_not_in_the_next_turn(claude, settings):
    asks = tool_use("toolu_1", "ask_to_use_mill", reason="To find the price.")
    claude.will(says(asks, stop_reason="tool_use"), says(*ASKED, text("80 cents.")), says(text("Goodbye.")))
    turn = begins(settings, "buyer", module=__name__)
    assert only_request(turn).tool_name == "ask_to_use_mill"
    turn = resumes(turn)
    run(say(turn.chat, "Thanks"))
    sent = [
        (len(request.body.get("mcp_servers", [])), request.headers.get("anthropic-beta")) for request in claude.requests
    ]
    assert (sent, claude.refused) == ([(0, None), (1, "mcp-client-2025-11-20"), (0, None)], [])
    assert [block["type"] for block in claude.requests[2].messages[3][1]] == ["text"]


def test_a_rejected_mcp_server_is_never_sent(claude, settings):
    asks = tool_use("toolu_1", "ask_to_use_mill", reason="To find the price.")
    claude.will(says(asks, stop_reason="tool_use"), says(text("Then not.")))
    turn = resumes(begins(settings, "buyer", module=__name__), Verdict.REJECT)
    assert (turn.state, ["mcp_servers" in request.body for request in claude.requests]) == (
        TurnState.COMPLETED,
        [False, False],
    )


def test_a_paused_use_of_an_mcp_server_is_continued(claude, settings):
    claude.will(says(text("I ask."), ASKED[0], stop_reason="pause_turn"), says(ASKED[1], text("80 cents.")))
    turn = begins(settings, "open_buyer", module=__name__)
    assert (turn.state, claude.refused) == (TurnState.COMPLETED, [])
    assert claude.requests[1].messages[-1] == ("assistant", [text("I ask."), ASKED[0]])


def test_the_token_of_an_mcp_server_is_in_no_error_and_no_row(claude, settings, caplog):
    claude.will(refuses(400, "invalid_request_error", f"MCP server mill refused the token {TOKEN}"))
    turn = begins(settings, "open_buyer", module=__name__)
    assert "MCP server mill refused the token" in turn.error
    assert (TOKEN in turn.error, TOKEN in caplog.text, TOKEN in str(list(Step.objects.values()))) == (
        False,
        False,
        False,
    )
