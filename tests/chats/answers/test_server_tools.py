"""Claude's own tools: offered as the agent configures, and those that need an approval only after it."""

from __future__ import annotations

import pytest

from approvals.models import AuditEntry
from approvals.states import Verdict
from chats import providers
from chats.agent import registry
from chats.agent.agent import Agent
from chats.agent.demo import getWeather, issueRefund
from chats.agent.server_tools import ServerTool
from chats.agent.tools import Tool
from chats.models import Message, ToolCall
from chats.states import CallState, TurnState
from tests.support import people
from tests.support.anthropic_server import KEY, AnthropicServer, says, text, thinking, tool_use
from tests.support.chats.turns import decide, kinds, make_chat, only_request, run, say, shape

pytestmark = pytest.mark.django_db(transaction=True)

SEARCH = ServerTool(
    name="web_search", max_uses=3, blocked_domains=["example.org"], needs_approval=True, priority="high"
)
CODE = ServerTool(name="code_execution")
clerk = Agent(name="clerk", tools=[getWeather, issueRefund], server_tools=[SEARCH, CODE], thinking="adaptive")

NEED = {"reason": "To find today's flour price."}
ASKS = tool_use("toolu_1", "ask_to_use_web_search", **NEED)
URL = "https://mill.example/prices"
FOUND = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "flour price"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "url": URL, "title": "Prices", "encrypted_content": "Eo8B"}],
    },
    text("Flour costs ")
    | {"citations": [{"type": "web_search_result_location", "url": URL, "title": "Prices", "cited_text": "0.80"}]},
    text("80 cents."),
]


@pytest.fixture
def claude(monkeypatch, settings):
    settings.HITL_AGENTS = [f"{__name__}.clerk"]
    settings.HITL_PROVIDER, settings.ANTHROPIC_API_KEY, settings.HITL_MODEL = "anthropic", KEY, "claude-sonnet-5-5"
    with AnthropicServer() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        restart()
        yield server
        restart()


def restart():
    """Drop the caches of the process."""
    for clear in (providers._make.cache_clear, registry.load.cache_clear, registry._with_sub_agents.cache_clear):
        clear()


def asks(claude):
    """Return a turn in which Claude has asked for a search, after a thought."""
    claude.will(says(thinking("I have to look.", "c2ln"), ASKS, stop_reason="tool_use"))
    return run(say(make_chat(people.alice()), "What does flour cost?"))


def offered(claude):
    """Return the names of the tools that were sent, by request."""
    return [[tool["name"] for tool in request.body["tools"]] for request in claude.requests]


GATED = ["getWeather", "issueRefund", "ask_to_use_web_search", "code_execution"]
FREE = ["getWeather", "issueRefund", "web_search", "code_execution"]


def test_a_search_runs_after_an_approval_and_a_restart_and_shows_its_sources(claude):
    turn = asks(claude)
    request = only_request(turn)
    assert (turn.state, request.tool_name, request.input, request.priority) == (
        TurnState.SUSPENDED,
        "ask_to_use_web_search",
        NEED,
        "high",
    )
    assert kinds(turn) == ["partial"]
    restart()
    decide(request, people.bob(), Verdict.APPROVE)
    claude.will(says(*FOUND))
    turn = run(turn)
    assert (turn.state, offered(claude), claude.refused) == (TurnState.COMPLETED, [GATED, FREE], [])
    assert claude.requests[1].body["tools"][2] == {
        "type": "web_search_20260318",
        "name": "web_search",
        "allowed_callers": ["direct"],
        "max_uses": 3,
        "blocked_domains": ["example.org"],
    }
    parts = Message.objects.get(chat=turn.chat, message_id=turn.message_id).parts
    assert [part["type"] for part in parts] == [
        "step-start",
        "reasoning",
        "tool-ask_to_use_web_search",
        "step-start",
        "text",
        "data-server-tool",
        "source-url",
        "data-remark",
    ]
    assert parts[7]["data"] == {"code": "thoughts_left_out", "why": "changed", "answers": 1}
    assert (parts[5]["data"]["input"], parts[6]["url"]) == ({"query": "flour price"}, URL)
    entries = AuditEntry.objects.filter(tool_call_id="toolu_1").order_by("id")
    assert list(entries.values_list("event", "actor_name")) == [
        ("request.created", "alice"),
        ("request.decided", "bob"),
        ("tool.result", ""),
    ]


def test_an_approval_ends_with_its_turn(claude):
    turn = asks(claude)
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    claude.will(says(*FOUND), says(text("You are welcome.")))
    run(turn)
    run(say(turn.chat, "Thanks"))
    assert (offered(claude), claude.refused) == ([GATED, FREE, GATED], [])


def test_a_rejected_search_is_never_offered_and_the_words_reach_the_model(claude):
    turn = asks(claude)
    decide(only_request(turn), people.bob(), Verdict.REJECT, comment="Ask the mill.")
    claude.will(says(text("I would have to search.")))
    assert run(turn).state == TurnState.COMPLETED
    assert offered(claude) == [GATED, GATED]
    (result,) = claude.requests[1].messages[-1][1]
    assert result["content"] == (
        "A person decided against this call. It was not run; do not try it again. Their reason: Ask the mill."
    )


def test_a_call_of_a_tool_that_is_not_offered_runs_nothing(claude):
    claude.will(says(tool_use("toolu_1", "web_search", query="flour"), stop_reason="tool_use"), says(text("Sorry.")))
    assert run(say(make_chat(people.alice()), "Search")).state == TurnState.COMPLETED
    call = ToolCall.objects.get()
    assert (call.state, call.error_text) == (
        CallState.FAILED,
        "There is no tool named 'web_search'. Tools: getWeather, issueRefund, ask_to_use_web_search.",
    )
    assert offered(claude) == [GATED, GATED]


def test_the_thoughts_before_an_approval_are_left_out_and_those_after_it_kept_within_the_turn(claude):
    turn = asks(claude)
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    calls = says(thinking("Now.", "bm93"), tool_use("toolu_2", "getWeather", city="Rome"), stop_reason="tool_use")
    claude.will(calls, says(*FOUND))
    run(turn)
    sent = [
        [block["thinking"] for _, content in request.messages for block in content if block["type"] == "thinking"]
        for request in claude.requests
    ]
    assert (sent, claude.refused) == ([[], [], ["Now."]], [])


def test_a_search_beside_a_call_waits_until_a_person_has_decided_about_the_call(claude):
    turn, bob = asks(claude), people.bob()
    decide(only_request(turn), bob, Verdict.APPROVE)
    refund = tool_use("toolu_2", "issueRefund", amount=250, orderId="A-1")
    claude.will(says(FOUND[0], refund, stop_reason="tool_use"))
    turn = run(turn)
    assert turn.state == TurnState.SUSPENDED
    restart()
    decide(only_request(turn), bob, Verdict.APPROVE)
    claude.will(says(*FOUND[1:]))
    turn = run(turn)
    assert (turn.state, offered(claude), claude.refused) == (TurnState.COMPLETED, [GATED, FREE, FREE], [])
    assert claude.requests[2].messages[-2] == ("assistant", [FOUND[0], refund])
    assert "source-url" in shape(turn)


UNUSABLE = {
    "name": ({"name": "mind_reading"}, "the name must be one of web_search, web_fetch, code_execution"),
    "uses": ({"name": "web_search", "max_uses": 0}, "max_uses must be at least 1"),
    "uses of code": ({"name": "code_execution", "max_uses": 2}, "it does not support max_uses and domains"),
    "both lists": (
        {"name": "web_search", "allowed_domains": ["a.example"], "blocked_domains": ["b.example"]},
        "set allowed_domains or blocked_domains, not both",
    ),
    "a scheme": (
        {"name": "web_search", "allowed_domains": ["https://a.example"]},
        "'https://a.example' is not a domain such as example.com",
    ),
    "a path to fetch": (
        {"name": "web_fetch", "allowed_domains": ["a.example/b"]},
        "'a.example/b' is not a domain such as example.com",
    ),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_server_tool_that_makes_no_sense_is_refused_in_words(case):
    given, words = UNUSABLE[case]
    with pytest.raises(ValueError, match="server tool") as refused:
        ServerTool(**given)
    assert str(refused.value).endswith(words)


@pytest.mark.parametrize("name", ["web_search", "ask_to_use_web_search"])
def test_names_that_clash_with_own_tools_are_refused(name):
    own = Tool(name=name, description="", input_model=getWeather.input_model, run=print)
    with pytest.raises(ValueError, match="agent clerk: two tools have the same name"):
        Agent(name="clerk", tools=[own], server_tools=[SEARCH])
