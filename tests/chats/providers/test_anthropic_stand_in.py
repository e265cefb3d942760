"""The stand-in refuses the same requests as the API, in its words; otherwise tests against it would prove nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.anthropic_server import text, thinking, tool_use
from tests.support.claude.account import Account, Refused

NEW, OLD = "claude-sonnet-5-5", "claude-haiku-4-5"
MARK = {"cache_control": {"type": "ephemeral"}}
TOOL = {"name": "look", "description": "", "input_schema": {"type": "object"}}
USE, RESULT = tool_use("toolu_1", "look"), {"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
WEB = {"type": "web_search_20260318", "name": "web_search"}
MCP = {"type": "mcp_tool_use", "id": "m1", "name": "find", "server_name": "crm", "input": {}}
CRM = {"type": "url", "name": "crm", "url": "https://crm.example"}
CRM_TOOLS = {"type": "mcp_toolset", "mcp_server_name": "crm", "configs": {"find": {"enabled": True}}}
MCP_BETA = {"extra_headers": {"anthropic-beta": "mcp-client-2025-11-20"}}
FALLBACK_BETA = {"extra_headers": {"anthropic-beta": "server-side-fallback-2026-07-01"}}
HAND_OVER = {"type": "fallback", "from": {"model": NEW}, "to": {"model": "claude-opus-5-5"}}
LATER = {"defer_loading": True}
FINDS = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
FIND = {"type": "server_tool_use", "id": "s1", "name": "tool_search_tool_bm25", "input": {"query": "look"}}
FOUND_TOOL = {
    "type": "tool_search_tool_result",
    "tool_use_id": "s1",
    "content": {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": "look"}],
    },
}
CODE = {"type": "code_execution_20260521", "name": "code_execution"}
RUNS = {"type": "server_tool_use", "id": "s1", "name": "bash_code_execution", "input": {}}


def asks(*messages, model=NEW, **more) -> dict[str, Any]:
    """Return a request; messages of people and of the model take turns."""
    roles = ("user", "assistant")
    said = [{"role": roles[number % 2], "content": list(blocks)} for number, blocks in enumerate(messages)]
    return {"model": model, "max_tokens": 3000, "messages": said} | more


HELLO, AGAIN = [text("Hello")], [text("And?")]
REFUSED = {
    "no result": (asks(HELLO, [USE], AGAIN, tools=[TOOL]), "`tool_use` ids were found without `tool_result` blocks"),
    "no call": (
        asks(HELLO, [text("x")], [RESULT], tools=[TOOL]),
        "unexpected `tool_use_id` found in `tool_result` blocks",
    ),
    "a text before a result": (
        asks(HELLO, [USE], [*AGAIN, RESULT], tools=[TOOL]),
        "`tool_result` blocks must come first",
    ),
    "no tools": (asks(HELLO, [USE], [RESULT]), "must define tools"),
    "a search without a result": (
        asks(HELLO, [SEARCH, text("x")], AGAIN),
        "without a corresponding `web_search_tool_result`",
    ),
    "a result without a search": (
        asks(HELLO, [FOUND, text("x")], AGAIN),
        "unexpected `tool_use_id` found in `web_search_tool",
    ),
    "a search that is not provided": (
        asks(HELLO, [USE, SEARCH], [RESULT], tools=[TOOL]),
        "but no `web_search` tool was provided",
    ),
    "a search that waits for too long": (
        asks(HELLO, [USE, SEARCH], [RESULT], [text("x")], AGAIN, tools=[TOOL, WEB]),
        "without a corresponding `web_search_tool_result`",
    ),
    "a type": (asks(HELLO, tools=[WEB | {"type": "web_search_20990101"}]), "does not match any of the expected tags"),
    "an option": (asks(HELLO, tools=[WEB | {"colour": "red"}]), "colour: Extra inputs are not permitted"),
    "another name": (asks(HELLO, tools=[WEB | {"name": "find"}]), "name: Input should be 'web_search'"),
    "both lists of domains": (
        asks(HELLO, tools=[WEB | {"allowed_domains": ["a.example"], "blocked_domains": ["b.example"]}]),
        "only one of allowed_domains or blocked_domains",
    ),
    "a scheme": (asks(HELLO, tools=[WEB | {"blocked_domains": ["https://a.example"]}]), "must not include a scheme"),
    "an MCP connector": (asks(HELLO, [MCP, text("x")], AGAIN), "Input tag 'mcp_tool_use' does not match"),
    "a foreign thought": (
        asks(HELLO, [thinking("Hm", "s"), text("x")], AGAIN),
        "Invalid `signature` in `thinking` block",
    ),
    "an empty text": (asks([text(" ")]), "text content blocks must contain non-whitespace text"),
    "a temperature": (asks(HELLO, temperature=0.5), "`temperature` is deprecated for this model."),
    "a budget": (asks(HELLO, thinking={"type": "enabled", "budget_tokens": 2000}), "is not supported for this model."),
    "adaptive": (asks(HELLO, model=OLD, thinking={"type": "adaptive"}), '"thinking.type.adaptive" is not supported'),
    "effort": (asks(HELLO, model=OLD, output_config={"effort": "low"}), "does not support the effort level 'low'"),
    "a forced call": (asks(HELLO, tools=[TOOL], tool_choice={"type": "any"}), "forced tool use is not supported"),
    "a choice without tools": (asks(HELLO, tool_choice={"type": "auto"}), "only be specified while providing tools"),
    "a called name": (
        asks(HELLO, [tool_use("toolu_1", "a.b")], [RESULT], tools=[TOOL]),
        "tool_use.name: String should match pattern",
    ),
    "a name": (asks(HELLO, tools=[TOOL | {"name": "a.b"}]), "Tool names must be unique words"),
    "a union": (
        asks(HELLO, tools=[TOOL | {"input_schema": {"type": "object", "anyOf": []}}]),
        "input_schema does not support oneOf, allOf, or anyOf at the top level",
    ),
    "a reference": (asks(HELLO, tools=[TOOL | {"input_schema": {"$ref": "#/$defs/A"}}]), "type: Field required"),
    "a field": (
        asks(HELLO, tools=[TOOL | {"input_schema": {"type": "object", "properties": {"ü": {}}}}]),
        "Property keys should match pattern",
    ),
    "five marks": (asks([text(str(number)) | MARK for number in range(5)]), "A maximum of 4 blocks with cache_control"),
    "a summary unasked": (
        asks(HELLO, [{"type": "compaction", "content": "x"}], AGAIN),
        "compaction is not supported here",
    ),
    "too much": (asks([text("word " * 200_000)], model=OLD), "prompt is too long"),
    "an unknown argument": (asks(HELLO, thread={"type": "create"}), "thread: Extra inputs are not permitted"),
    "an argument without its beta": (asks(HELLO, fallbacks="default"), "fallbacks: Extra inputs are not permitted"),
    "another beta": (
        asks(HELLO, fallbacks="default", extra_headers={"anthropic-beta": "server-side-fallback-2026-06-01"}),
        "fallbacks: Extra inputs are not permitted",
    ),
    "a schema of a typed tool": (
        asks(HELLO, tools=[TOOL | {"type": "bash_20250124", "name": "bash"}]),
        "tools.0.bash_20250124.description: Extra inputs are not permitted",
    ),
    "another name of the editor": (
        asks(HELLO, tools=[{"type": "text_editor_20250728", "name": "text_editor"}]),
        "name: Input should be 'str_replace_based_edit_tool'",
    ),
    "an eager typed tool": (
        asks(HELLO, tools=[{"type": "memory_20250818", "name": "memory", "eager_input_streaming": True}]),
        "eager_input_streaming: Extra inputs are not permitted",
    ),
    "all deferred": (asks(HELLO, tools=[TOOL | LATER]), "At least one tool must have defer_loading=false"),
    "a mark on a deferred tool": (
        asks(HELLO, tools=[TOOL | LATER | MARK, FINDS]),
        "Tool 'look' cannot have both defer_loading=true and cache_control set",
    ),
    "a found tool that is gone": (
        asks(HELLO, [FIND, FOUND_TOOL, text("x")], AGAIN, tools=[FINDS]),
        "Tool reference 'look' not found in available tools",
    ),
    "a server without tools": (
        asks(HELLO, mcp_servers=[CRM], **MCP_BETA),
        "must be referenced by exactly one mcp_toolset",
    ),
    "tools without a server": (asks(HELLO, tools=[CRM_TOOLS], **MCP_BETA), "MCP server 'crm' not found in mcp_servers"),
    "a server without TLS": (
        asks(HELLO, mcp_servers=[CRM | {"url": "http://crm.example"}], tools=[CRM_TOOLS], **MCP_BETA),
        "must start with https://",
    ),
    "a use of MCP without its result": (
        asks(HELLO, [MCP, text("x")], AGAIN, mcp_servers=[CRM], tools=[CRM_TOOLS], **MCP_BETA),
        "without a corresponding `find_tool_result`",
    ),
    "itself as a fallback": (
        asks(HELLO, fallbacks=[{"model": NEW}], **FALLBACK_BETA),
        "fallbacks: each model must be distinct",
    ),
    "a call before a fallback": (
        asks(HELLO, [USE, HAND_OVER, text("x")], [RESULT], tools=[TOOL], **FALLBACK_BETA),
        "blocks before the final `fallback` block must be left out",
    ),
    "a container that is gone": (asks(HELLO, container="container_1"), "container_1 does not exist or has expired"),
    "code that waits for its container": (
        asks(HELLO, [RUNS], tools=[CODE]),
        "container_id is required when there are pending tool uses generated by code execution",
    ),
    "an upload without a container": (
        asks([{"type": "container_upload", "file_id": "file_1"}]),
        "container_upload: requires the code_execution tool",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_api_refuses_is_refused(case):
    body, words = REFUSED[case]
    with pytest.raises(Refused) as refused:
        Account().answer(body, [])
    assert words in str(refused.value)


SYSTEM = [text("Be kind.")]
CHANGES = {
    "nothing": ({}, ""),
    "a mark for the cache": ({"system": [SYSTEM[0] | MARK]}, ""),
    "effort": ({"output_config": {"effort": "low"}}, ""),
    "the system prompt": ({"system": [text("Be brief.")]}, "The block is bound to a different conversation."),
    "the tools": ({"tools": [TOOL]}, "The block is bound to a different conversation."),
    "the model": ({"model": "claude-fable-5-2"}, "Invalid `signature` in `thinking` block."),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_thought_is_bound_to_what_was_sent_before_it(change):
    account, thought = Account(), thinking("Hm", "s")
    account.answer(asks(HELLO, system=SYSTEM), [thought, text("Yes.")])
    changed, words = CHANGES[change]
    again = asks(HELLO, [thought, text("Yes.")], AGAIN, system=SYSTEM) | changed
    objection = account.objection(again)
    assert (words in objection, bool(objection)) == (True, bool(words))
    # Nor may an earlier message change, or a thought between others be missing.
    assert "different conversation" in account.objection(asks(AGAIN, [thought, text("Yes.")], AGAIN, system=SYSTEM))


def test_claude_uses_only_what_it_was_offered():
    with pytest.raises(Refused, match="The test makes Claude use web_search, which it was not offered"):
        Account().answer(asks(HELLO, tools=[TOOL]), [SEARCH, FOUND])
    assert Account().objection(asks(HELLO, [USE, SEARCH], [RESULT], tools=[TOOL, WEB])) == ""


def test_claude_calls_a_deferred_tool_only_after_it_has_found_it():
    body = asks(HELLO, tools=[TOOL | LATER, FINDS])
    with pytest.raises(Refused, match="The test makes Claude use look, which it cannot"):
        Account().answer(body, [USE])
    Account().answer(body, [FIND, FOUND_TOOL, USE])


def test_claude_calls_only_the_enabled_tools_of_an_mcp_server():
    body = asks(HELLO, mcp_servers=[CRM], tools=[CRM_TOOLS], **MCP_BETA)
    with pytest.raises(Refused, match=r"The test makes Claude use crm.delete, which it cannot"):
        Account().answer(body, [MCP | {"name": "delete"}])
    Account().answer(body, [MCP])


def test_a_thought_after_a_fallback_is_bound_to_what_is_sent_back_of_the_answer():
    account, before, after = Account(), thinking("Hm", "s"), thinking("So", "t")
    account.answer(asks(HELLO, **FALLBACK_BETA), [before, text("I "), HAND_OVER, after, text("may.")])
    kept = [text("I "), HAND_OVER, after, text("may.")]
    assert account.objection(asks(HELLO, kept, AGAIN, **FALLBACK_BETA)) == ""
    assert "different conversation" in account.objection(asks(HELLO, kept[1:], AGAIN, **FALLBACK_BETA))
