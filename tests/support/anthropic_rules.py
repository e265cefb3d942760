"""Refuse what the real Messages API refuses in a request; part of `tests.support.anthropic_server`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Body = dict[str, Any]
Blocks = list[dict[str, Any]]

THOUGHTS = {"thinking", "redacted_thinking"}
TYPES = {
    "user": {"text", "image", "document", "tool_result"},
    "assistant": {"text", "tool_use", "server_tool_use", "web_search_tool_result", *THOUGHTS},
}
WORD = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def fingerprint(block: Mapping[str, Any]) -> str:
    return json.dumps(block, sort_keys=True)


def objections(body: Body, issued: Mapping[str, str]) -> Iterator[str]:
    """Every reason to answer 400. `issued` says which thought (its fingerprint) was signed by which model."""
    messages = body["messages"]
    if not messages or messages[0]["role"] != "user":
        yield "messages: first message must use the user role"
    for number, message in enumerate(messages):
        yield from _of_message(f"messages.{number}", message, body["model"], issued)
    turns = _merged(messages)
    yield from _of_calls(turns)
    yield from _of_tools(body, turns)
    yield from _of_thinking(body, turns)


def _of_message(at: str, message: Body, model: str, issued: Mapping[str, str]) -> Iterator[str]:
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
        if block["type"] in THOUGHTS and issued.get(fingerprint(block)) != model:
            yield f"{at}.content.{number}: Invalid `signature` in `thinking` block"
        if block["type"] == "tool_use" and not (WORD.fullmatch(block["id"]) and isinstance(block["input"], dict)):
            yield f"{at}.content.{number}.tool_use: String should match pattern, input should be an object"
        if block["type"] == "tool_result" and block.get("is_error") and not block["content"]:
            yield f"{at}.content.{number}.tool_result: content cannot be empty if `is_error` is true"
    if content[-1]["type"] in THOUGHTS:
        yield f"{at}: The final block in an assistant message cannot be `thinking`."


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
    names = [tool["name"] for tool in tools]
    if len(set(names)) != len(names) or not all(WORD.fullmatch(name) for name in names):
        yield "tools: Tool names must be unique words"
    if any(tool["input_schema"].get("type") != "object" for tool in tools):
        yield "tools.0.custom.input_schema.type: Field required"
    if not tools and any(block["type"] in {"tool_use", "tool_result"} for _, blocks in turns for block in blocks):
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools."
    if any(not block["text"].strip() for block in system):
        yield "system: text content blocks must be non-empty"
    if sum("cache_control" in block for block in [*tools, *system]) > 4:
        yield "A maximum of 4 blocks with cache_control may be provided."


def _of_thinking(body: Body, turns: list[tuple[str, Blocks]]) -> Iterator[str]:
    """Models from 4.7 on take neither a budget nor a temperature, models before 4.6 no adaptive thinking."""
    config = body.get("thinking", {})
    found = re.search(r"-(\d)(?:-(\d))?(?:-|$)", body["model"])
    version = (int(found[1]), int(found[2] or 0)) if found else (4, 6)
    kind = config.get("type")
    if (kind == "enabled" and version >= (4, 7)) or (kind == "adaptive" and version < (4, 6)):
        yield f'"thinking.type.{kind}" is not supported for this model.'
    if "temperature" in body and version >= (4, 7):
        yield "`temperature` is deprecated for this model."
    if "temperature" in body and (kind or not 0 <= body["temperature"] <= 1):
        yield "`temperature` may only be set to 1 when thinking is enabled, and is between 0 and 1."
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
