"""Settings of agents for Claude: tool choice, strict tools, stop sequences, an output type, hidden thinking."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, create_model

from chats import providers
from chats.agent import registry
from chats.agent.agent import Agent
from chats.agent.demo import getWeather
from chats.agent.provider import ModelMessage, ModelRequest
from chats.agent.server_tools import ServerTool
from chats.agent.tools import Tool, tool
from chats.agent.typed_tools import Bash, typed_tool
from chats.checks import check_agents
from chats.providers.anthropic.models import NEWEST, known, takes
from chats.providers.anthropic.request import request_arguments
from tests.support.anthropic_server import KEY, text, tool_use
from tests.support.claude.account import Account
from tests.support.claude.models import KNOWN

NEW, MIDDLE, OLD, OLDEST = "claude-sonnet-5-5", "claude-sonnet-4-6", "claude-haiku-4-5", "claude-3-haiku-20240307"
HELLO = [ModelMessage("user", [text("Hello")])]
CALLED = [
    *HELLO,
    ModelMessage("assistant", [tool_use("toolu_1", "getWeather", city="Rome")]),
    ModelMessage("user", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "clear"}]),
]


class Report(BaseModel):
    city: str
    degrees: int = Field(ge=-90, le=60)


@typed_tool
def shell(call: Bash) -> str:
    """Run a command."""
    return call.command


class Folder(BaseModel):
    """A folder in folders."""

    model_config = ConfigDict(extra="forbid")
    name: str
    folders: list[Folder] = []


def body(model=NEW, messages=HELLO, **given):
    """Return the request, which the API accepts."""
    agent = Agent(name="clerk", **{"tools": [getWeather], **given})
    asked = request_arguments(ModelRequest(agent, messages), model).arguments
    sent = {name: value for name, value in asked.items() if name != "extra_body"} | asked.get("extra_body", {})
    assert Account().objection(sent) == ""
    return sent


def test_a_call_is_forced_in_the_first_answer_only_and_where_the_model_takes_it():
    assert body(MIDDLE, tool_choice="any")["tool_choice"] == {"type": "any"}
    assert body(MIDDLE, tool_choice="getWeather")["tool_choice"] == {"type": "tool", "name": "getWeather"}
    assert body(MIDDLE, tool_choice="none")["tool_choice"] == {"type": "none"}
    free = [
        body(MIDDLE, CALLED, tool_choice="any"),
        body(NEW, tool_choice="any"),
        body(MIDDLE, tool_choice="any", thinking="adaptive"),
        body(MIDDLE, tool_choice="any", tools=[]),
    ]
    assert ["tool_choice" in request for request in free] == [False] * 4


def test_stop_sequences_effort_and_hidden_thinking_are_sent():
    asked = body(stop_sequences=["END"], effort="low", thinking="adaptive", show_thinking=False)
    assert (asked["stop_sequences"], asked["output_config"], asked["thinking"]) == (
        ["END"],
        {"effort": "low"},
        {"type": "adaptive", "display": "omitted"},
    )


def test_an_output_type_is_asked_for_and_parsed():
    schema = body(output=Report)["output_config"]["format"]["schema"]
    assert (schema["type"], schema["additionalProperties"], schema["required"]) == (
        "object",
        False,
        ["city", "degrees"],
    )
    clerk = Agent(name="clerk", output=Report)
    assert clerk.parse_output('{"city": "Rome", "degrees": 20}') == Report(city="Rome", degrees=20)
    with pytest.raises(ValueError, match="degrees"):
        clerk.parse_output('{"city": "Rome", "degrees": 2000}')


def test_a_strict_tool_is_sent_without_what_the_api_does_not_enforce_and_still_checked_here():
    @tool(strict=True)
    def report(degrees: int = Field(ge=-90)) -> str:
        """Report."""
        return str(degrees)

    (sent,) = body(tools=[report])["tools"]
    assert (sent["strict"], "minimum" in sent["input_schema"]["properties"]["degrees"]) == (True, False)


def test_server_tools_are_sent_in_their_newest_versions_and_called_directly():
    tools = [
        ServerTool(name="web_search", allowed_domains=("mill.example/prices",)),
        ServerTool(name="web_fetch", max_uses=2),
        ServerTool(name="code_execution"),
    ]
    direct = {"allowed_callers": ["direct"]}
    search = {"type": "web_search_20260318", "name": "web_search", "allowed_domains": ["mill.example/prices"]} | direct
    fetch = {"type": "web_fetch_20260318", "name": "web_fetch", "max_uses": 2} | direct
    code = {"type": "code_execution_20260521", "name": "code_execution"}
    cites = {"citations": {"enabled": True}}
    marked = body(tools=[], server_tools=tools, cache_minutes=0)["tools"]
    assert marked == [search, fetch | cites, code]
    assert body(OLD, tools=[], server_tools=tools, output=Report, cache_minutes=0)["tools"] == [search, fetch, code]


def test_a_model_that_contains_itself_becomes_an_object_that_the_api_takes():
    tidy = Tool(name="tidy", description="Tidy up.", input_model=Folder, run=print)
    schema = body(tools=[tidy])["tools"][0]["input_schema"]
    assert (schema["type"], list(schema["properties"])) == ("object", ["name", "folders"])
    assert tidy.validate({"name": "a", "folders": [{"name": "b", "folders": []}]}).folders[0].name == "b"


def test_the_table_of_models_says_what_the_stand_in_enforces():
    said = {name: takes(name) for name in KNOWN}
    assert {name: (one.temperature, one.efforts, one.forced_tools, one.window) for name, one in said.items()} == {
        name: (rules.temperature, rules.effort, rules.forced_tools, rules.window) for name, rules in KNOWN.items()
    }
    assert {name: (one.adaptive, one.budget) for name, one in said.items()} == {
        name: ("adaptive" in rules.thinking, "enabled" in rules.thinking) for name, rules in KNOWN.items()
    }


def test_models_are_told_apart_by_name_also_with_dates_and_prefixes():
    assert known("claude-haiku-4-5-20251001") == known("eu.anthropic.claude-haiku-4-5-20251001-v1:0") == takes(OLD)
    assert [takes("claude-opus-4-20250514").budget, takes("claude-3-7-sonnet-latest").budget] == [True, True]
    assert [takes(OLDEST).thinks, known("claude-sonnet-6"), takes("claude-sonnet-6")] == [False, None, NEWEST]
    assert known("gpt-7") is None


PROBLEMS: dict[str, tuple[str, dict[str, Any], str]] = {
    "temperature": (
        NEW,
        {"temperature": 0.5},
        "claude-sonnet-5-5 does not accept a temperature. Remove it, or set the agent's effort instead.",
    ),
    "effort": (
        MIDDLE,
        {"effort": "xhigh"},
        "claude-sonnet-4-6 does not support the effort 'xhigh'. It supports: low, medium, high, max.",
    ),
    "no effort at all": (OLD, {"effort": "low"}, "claude-haiku-4-5 does not support the effort 'low'. It supports: none."),
    "thinking": (
        OLDEST,
        {"thinking": 2000},
        "claude-3-haiku-20240307 does not support thinking. Remove thinking, or choose another model.",
    ),
    "both": (
        MIDDLE,
        {"thinking": 2000, "temperature": 1},
        "A model does not accept a temperature while thinking is on. Remove temperature or thinking.",
    ),
    "forced": (
        NEW,
        {"tool_choice": "any"},
        "claude-sonnet-5-5 cannot be forced to use a tool, or not while it thinks. Remove tool_choice.",
    ),
    "server tool": (
        OLDEST,
        {"server_tools": [ServerTool(name="web_search", needs_approval=True)]},
        "claude-3-haiku-20240307 cannot use the server tool web_search. Remove it, or choose another model.",
    ),
    "unknown tool": (
        MIDDLE,
        {"tool_choice": "fly"},
        "tool_choice names the tool 'fly', which the agent does not have.",
    ),
    "endless output": (
        NEW,
        {"output": Folder},
        "The output type contains itself, which Claude does not support. Give it a fixed depth.",
    ),
    "output": (
        OLDEST,
        {"output": Report},
        "claude-3-haiku-20240307 does not support an output type. Remove output, or choose another model.",
    ),
    "a typed tool": (
        OLDEST,
        {"tools": [shell]},
        "claude-3-haiku-20240307 does not support tool search, bash, the text editor and the memory. "
        "Choose another model.",
    ),
    "itself as a fallback": (
        NEW,
        {"fallbacks": [NEW]},
        "fallbacks names claude-sonnet-5-5, which is the agent's main model. Remove it from fallbacks.",
    ),
    "a fallback": (
        NEW,
        {"thinking": "adaptive", "fallbacks": [OLDEST]},
        "claude-3-haiku-20240307 does not support thinking. Remove thinking, or choose another model.",
    ),
}  # fmt: skip


@pytest.fixture
def configured(settings):
    """Check an agent that Claude has to answer as."""
    settings.HITL_PROVIDER, settings.ANTHROPIC_API_KEY = "anthropic", KEY
    settings.HITL_AGENTS = [f"{__name__}.clerk"]
    caches = (providers._make.cache_clear, registry.load.cache_clear, registry._with_sub_agents.cache_clear)

    def check(agent, model):
        globals()["clerk"] = agent
        settings.HITL_MODEL = model
        for clear in caches:
            clear()
        return [(found.id, found.msg) for found in check_agents()]

    yield check
    for clear in caches:
        clear()


@pytest.mark.parametrize("case", PROBLEMS)
def test_what_the_model_does_not_take_is_found_by_manage_py_check(configured, case):
    model, given, words = PROBLEMS[case]
    found = configured(Agent(name="clerk", **given), model)
    assert found == [("chats.E003", f"HITL_AGENTS: agent clerk: {words}")]


def test_an_agent_that_claude_takes_passes_the_checks(configured):
    whole = Agent(name="clerk", tools=[getWeather], thinking="adaptive", effort="max", output=Report)
    assert configured(whole, NEW) == []


class Both(RootModel[Report | Folder]):
    """Either."""


NO_TOOLS = {
    "a name": (
        Tool(name="get.weather", description="", input_model=Report, run=print),
        "tool get.weather: Claude accepts only names of 1 to 128 letters, digits, _ and -.",
    ),
    "a field": (
        Tool(name="get", description="", input_model=create_model("Odd", **{"größe": (int, ...)}), run=print),
        "tool get: Claude accepts only field names of 1 to 64 letters, digits, _, . and -, so not 'größe'.",
    ),
    "several types": (
        Tool(name="get", description="", input_model=Both, run=print),
        "tool get: Its input is one of several types. Put them into a field of one model.",
    ),
    "a list": (
        Tool(name="get", description="", input_model=RootModel[list[int]], run=print),
        "tool get: Its input has to be an object with fields.",
    ),
    "no schema": (
        Tool(
            name="get",
            description="",
            input_model=create_model("Wrong", city=(str, Field(json_schema_extra={"minLength": "two"}))),
            run=print,
        ),
        "tool get: Its input has no valid JSON Schema: 'two' is not of type 'integer'",
    ),
    "strict and endless": (
        Tool(name="get", description="", input_model=Folder, run=print, strict=True),
        "tool get: Its input contains itself, so the tool cannot be strict.",
    ),
}


@pytest.mark.parametrize("case", NO_TOOLS)
def test_tools_that_claude_does_not_take_are_found_by_manage_py_check(configured, case):
    refused, words = NO_TOOLS[case]
    helper = Agent(name="helper", tools=[refused])
    assert configured(Agent(name="clerk", tools=[helper.as_tool()]), NEW) == [
        ("chats.E003", f"HITL_AGENTS: agent helper: {words}")
    ]
