"""Refuse the requests that the real Messages API refuses; part of `tests.support.claude`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from tests.support.claude import cache, features, server_tools
from tests.support.claude.models import rules_of
from tests.support.claude.thoughts import THOUGHTS, Thoughts

Body = dict[str, Any]
Blocks = list[dict[str, Any]]

RESULT_TYPES = {"text", "image", "document", "search_result", "tool_reference"}
TYPES = {
    "user": {"text", "image", "document", "tool_result", "container_upload"},
    "assistant": {
        "text",
        "tool_use",
        "compaction",
        "fallback",
        "mcp_tool_listing",
        *server_tools.USES,
        *server_tools.RESULTS,
        *THOUGHTS,
    },
}
WORD = re.compile(r"[a-zA-Z0-9_-]{1,128}")
PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def objections(
    body: Body, thoughts: Thoughts, betas: Collection[str] = (), containers: Collection[str] = ()
) -> Iterator[str]:
    """Yield every reason to answer 400. `thoughts` are those the account was given, `betas` the features in the header."""
    messages = body["messages"]
    yield from features.of_arguments(body, betas)
    if not messages or messages[0]["role"] != "user":
        yield "messages: first message must use the user role"
    for number, message in enumerate(messages):
        yield from _of_message(f"messages.{number}", message)
    yield from thoughts.objections(body)
    turns = _merged(messages)
    yield from _of_calls(turns)
    yield from server_tools.of_declarations(body.get("tools", []))
    yield from server_tools.of_pairs(turns, body.get("tools", []))
    yield from features.of_mcp(body)
    yield from features.of_fallbacks(body)
    yield from features.of_deferred(body)
    yield from features.of_containers(body, containers, server_tools.waiting_uses(turns))
    yield from _of_tools(body, turns)
    yield from _of_schemas(body)
    yield from cache.objections(body)
    yield from _of_settings(body)
    yield from _of_thinking(body, turns)


def _of_message(at: str, message: Body) -> Iterator[str]:
    role, content = message["role"], message["content"]
    if role not in TYPES:
        yield f"{at}.role: Input should be user or assistant"
        return
    if not content:
        yield f"{at}: all messages must have non-empty content"
        return
    for number, block in enumerate(content):
        if block["type"] not in TYPES[role]:
            yield f"{at}.content.{number}: Input tag '{block['type']}' does not match any of the expected tags"
        if block["type"] == "text" and not block["text"].strip():
            yield "messages: text content blocks must contain non-whitespace text"
        if block["type"] == "tool_use" and not (WORD.fullmatch(block["id"]) and isinstance(block["input"], dict)):
            yield f"{at}.content.{number}.tool_use: String should match pattern, input should be an object"
        if block["type"] == "tool_use" and not WORD.fullmatch(block["name"]):
            yield f"{at}.content.{number}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        if block["type"] == "tool_result" and block.get("is_error") and not block["content"]:
            yield f"{at}.content.{number}.tool_result: content cannot be empty if `is_error` is true"
        if block["type"] == "tool_result" and isinstance(block["content"], list):
            yield from _of_result(f"{at}.content.{number}.tool_result", block)
    if content[-1]["type"] in THOUGHTS:
        yield f"{at}: The final block in an assistant message cannot be `thinking`."


def _of_result(at: str, result: Body) -> Iterator[str]:
    kinds = {block["type"] for block in result["content"]}
    if not kinds <= RESULT_TYPES:
        yield f"{at}.content: Input tag does not match any of the expected tags"
    if result.get("is_error") and kinds != {"text"}:
        yield f"{at}: all content must be type `text` if `is_error` is true"


def _merged(messages: list[Body]) -> list[tuple[str, Blocks]]:
    """Neighbours of one role count as one message."""
    merged: list[tuple[str, Blocks]] = []
    for message in messages:
        if merged and merged[-1][0] == message["role"]:
            merged[-1][1].extend(message["content"])
        else:
            merged.append((message["role"], list(message["content"])))
    return merged


def _of_calls(turns: list[tuple[str, Blocks]]) -> Iterator[str]:
    every = [block["id"] for _, blocks in turns for block in blocks if block["type"] == "tool_use"]
    if len(set(every)) != len(every):
        yield "messages: `tool_use` ids must be unique"
    asked: list[str] = []
    for number, (role, blocks) in enumerate([*turns, ("user", [])]):
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if role == "user":
            if set(asked) - set(results):
                yield f"messages.{number - 1}: `tool_use` ids were found without `tool_result` blocks immediately after"
            if set(results) - set(asked):
                yield f"messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks"
            if len(set(results)) != len(results):
                yield f"messages.{number}: each tool_use must have a single result"
            if any(block["type"] != "tool_result" for block in blocks[: len(results)]):
                yield f"messages.{number}: `tool_result` blocks must come first"
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
    if turns and turns[-1][0] == "assistant" and turns[-1][1][-1].get("text", "x")[-1:].isspace():
        yield "messages: final assistant content cannot end with trailing whitespace"


def _of_tools(body: Body, turns: list[tuple[str, Blocks]]) -> Iterator[str]:
    tools, system = body.get("tools", []), body.get("system", [])
    names = [tool["name"] for tool in tools if tool.get("type") != "mcp_toolset"]
    if len(set(names)) != len(names) or not all(WORD.fullmatch(name) for name in names):
        yield "tools: Tool names must be unique words"
    if any(tool["input_schema"].get("type") != "object" for tool in tools if server_tools.is_own(tool)):
        yield "tools.0.custom.input_schema.type: Field required"
    if not tools and any(block["type"] in {"tool_use", "tool_result"} for _, blocks in turns for block in blocks):
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools."
    if any(not block["text"].strip() for block in system):
        yield "system: text content blocks must be non-empty"


def _of_schemas(body: Body) -> Iterator[str]:
    for number, tool in enumerate(body.get("tools", [])):
        if not server_tools.is_own(tool):
            continue
        at, schema = f"tools.{number}.custom.input_schema", tool["input_schema"]
        if schema.keys() & {"oneOf", "allOf", "anyOf"}:
            yield f"{at}: input_schema does not support oneOf, allOf, or anyOf at the top level"
        for name in schema.get("properties", {}):
            if not PROPERTY.fullmatch(name):
                yield f"{at}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'"


def _of_settings(body: Body) -> Iterator[str]:
    """Check the settings besides messages that each model accepts."""
    rules, kind = rules_of(body["model"]), body.get("thinking", {}).get("type")
    config = body.get("output_config", {})
    if kind and kind not in rules.thinking:
        yield f'"thinking.type.{kind}" is not supported for this model.'
    if "temperature" in body and not rules.temperature:
        yield "`temperature` is deprecated for this model."
    if "temperature" in body and (kind in {"adaptive", "enabled"} or not 0 <= body["temperature"] <= 1):
        yield "`temperature` may only be set to 1 when thinking is enabled, and is between 0 and 1."
    if "effort" in config and config["effort"] not in rules.effort:
        yield f"This model does not support the effort level '{config['effort']}'."
    if config.get("effort") in {"xhigh", "max"} and kind in {"disabled", "between_tools"}:
        yield f"thinking.type.{kind} is not allowed with effort '{config['effort']}'."
    forced = body.get("tool_choice", {}).get("type") in {"any", "tool"}
    if forced and (not rules.forced_tools or kind in {"adaptive", "enabled"}):
        yield "tool_choice: forced tool use is not supported for this model or with thinking."
    if "tool_choice" in body and not body.get("tools"):
        yield "tool_choice may only be specified while providing tools."
    if any(not word.strip() for word in body.get("stop_sequences", [])):
        yield "stop_sequences: each stop sequence must contain non-whitespace"
    edits = [edit["type"] for edit in body.get("context_management", {}).get("edits", [])]
    summarized = any(block.get("type") == "compaction" for block in cache.prompt_blocks(body))
    if ("compact_20260112" in edits) > rules.compaction or summarized > ("compact_20260112" in edits):
        yield "context_management: compaction is not supported here"
    if sum(cache.tokens(cache.plain(block)) for block in cache.prompt_blocks(body)) > rules.window:
        yield f"prompt is too long: more than {rules.window} tokens"


def _of_thinking(body: Body, turns: list[tuple[str, Blocks]]) -> Iterator[str]:
    config = body.get("thinking", {})
    kind = config.get("type")
    if kind == "enabled" and not 1024 <= config["budget_tokens"] < body["max_tokens"]:
        yield "thinking.enabled.budget_tokens: at least 1024 and less than `max_tokens`"
    last_words = max(
        (
            n
            for n, (_, blocks) in enumerate(turns)
            if blocks[-1]["type"] not in {"tool_use", "tool_result"} and turns[n][0] == "user"
        ),
        default=0,
    )
    begun = next((blocks for role, blocks in turns[last_words:] if role == "assistant"), None)
    if kind == "enabled" and begun and begun[0]["type"] not in THOUGHTS:
        yield (
            f"messages.{last_words + 1}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{begun[0]['type']}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block"
        )
