"""Refuse the requests that OpenAI's Chat Completions API refuses; part of `tests.support.openai_server`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Body = dict[str, Any]

WORD = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ARGUMENTS = {
    "model", "messages", "stream", "stream_options", "tools", "tool_choice", "temperature", "max_tokens",
    "max_completion_tokens", "reasoning_effort", "stop", "response_format",
}  # fmt: skip
FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id"},
}
#: Reasoning models refuse arguments that older ones take; other vendors' models require their thoughts back.
THINKERS, OTHERS = re.compile(r"(gpt-5|o\d)"), re.compile(r"deepseek")
#: Members that the models of other vendors take back, in messages and in calls.
VENDORS = {
    "deepseek": ({"reasoning_content"}, set()),
    "gemini": ({"extra_content"}, {"extra_content"}),
    "local": ({"reasoning", "reasoning_details"}, set()),
}


def objections(body: Body) -> Iterator[tuple[str, str, str]]:
    """Every reason to answer 400: its words, and the `param` and `code` that go with them."""
    for name in body.keys() - ARGUMENTS:
        yield f"Unrecognized request argument supplied: {name}", name, ""
    yield from ((words, "messages", "") for words in _of_messages(body["messages"], body["model"]))
    yield from ((words, "tools", "") for words in _of_tools(body))
    thinks = bool(THINKERS.match(body["model"]))
    if thinks and "max_tokens" in body:
        words = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        yield words, "max_tokens", "unsupported_parameter"
    if thinks and body.get("temperature", 1) != 1:
        words = (
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) is supported."
        )
        yield words, "temperature", "unsupported_value"
    if thinks and "stop" in body:
        yield "Unsupported parameter: 'stop' is not supported with this model.", "stop", "unsupported_parameter"
    if not thinks and "reasoning_effort" in body:
        yield "Unrecognized request argument supplied: reasoning_effort", "", ""
    if len(body.get("stop", [])) > 4:
        yield (
            "Invalid 'stop': array too long. Expected an array with maximum length 4",
            "stop",
            "array_above_max_length",
        )
    yield from ((words, "response_format", "") for words in _of_format(body.get("response_format")))
    if OTHERS.match(body["model"]) and "stream_options" in body:
        yield "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options')}]", "", ""
    if "stream_options" in body and not body.get("stream"):
        yield "The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options", ""


def _of_messages(messages: list[Body], model: str) -> Iterator[str]:
    if not messages:
        yield "[] is too short - 'messages'"
    waiting: set[str] = set()
    mistral = model.startswith("magistral")
    for number, message in enumerate([*messages, {"role": "user", "content": "the end"}]):
        role, at = message["role"], f"messages[{number}]"
        if role not in FIELDS:
            yield f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user' and 'tool'."
            continue
        theirs, of_calls = VENDORS.get(model.partition("-")[0], (set(), set()))
        for name in message.keys() - FIELDS[role] - (theirs if role == "assistant" else set()):
            yield f"Additional properties are not allowed ('{name}' was unexpected) - '{at}'"
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                yield "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
            waiting.discard(message["tool_call_id"])
        elif waiting:
            yield (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(sorted(waiting))}"
            )
            waiting = set()
        if role == "assistant":
            calls = message.get("tool_calls")
            yield from _of_calls(at, calls, of_calls)
            yield from _of_thoughts(number, message, model)
            waiting = {call["id"] for call in calls or []}
        yield from _of_content(at, message, parts=mistral)


def _of_thoughts(number: int, message: Body, model: str) -> Iterator[str]:
    """Yield the missing fields that a vendor's model has sent with a call."""
    calls = message.get("tool_calls")
    if calls and model == "deepseek-thinks" and "reasoning_content" not in message:
        yield f"Missing `reasoning_content` field in the assistant message at message index {number}."
    if calls and model.startswith("gemini") and "thought_signature" not in str(calls[0].get("extra_content")):
        yield "Function call is missing a thought_signature in functionCall parts."


def _of_calls(at: str, calls: list[Body] | None, more: set[str]) -> Iterator[str]:
    if calls is None:
        return
    if not calls:
        yield f"[] is too short - '{at}.tool_calls'"
    if len({call["id"] for call in calls}) != len(calls):
        yield f"Duplicate ids in '{at}.tool_calls'"
    for number, call in enumerate(calls):
        for name in call.keys() - {"id", "type", "function"} - more:
            yield f"Additional properties are not allowed ('{name}' was unexpected) - '{at}.tool_calls[{number}]'"
        if not 0 < len(call["id"]) <= 40:
            yield f"Invalid '{at}.tool_calls[{number}].id': string too long. Expected a string with maximum length 40"
        if call["type"] != "function" or not isinstance(call["function"]["arguments"], str):
            yield f"Invalid type for '{at}.tool_calls[{number}].function.arguments': expected a string"
        if not WORD.fullmatch(call["function"]["name"]):
            yield f"Invalid '{at}.tool_calls[{number}].function.name': string does not match pattern."


def _of_content(at: str, message: Body, *, parts: bool) -> Iterator[str]:
    content = message.get("content")
    if content is None:
        if message["role"] != "assistant" or "tool_calls" not in message:
            yield f"Invalid value for 'content': expected a string, got null. - '{at}'"
    elif isinstance(content, list):
        if parts and message["role"] == "assistant":
            return
        if message["role"] != "user" or not content:
            yield f"Invalid type for '{at}.content': expected a string"
        for part in content:
            match part:
                case {"type": "text", "text": str()}:
                    pass
                case {"type": "image_url", "image_url": {"url": str(url)}} if url.startswith(("data:image/", "https:")):
                    pass
                case {"type": "file", "file": {"filename": str(), "file_data": str(data)}} if data.startswith("data:"):
                    pass
                case _:
                    yield f"Invalid value in '{at}.content': {part}"
    elif not isinstance(content, str):
        yield f"Invalid type for '{at}.content': expected a string"


def _of_tools(body: Body) -> Iterator[str]:
    tools = body.get("tools")
    if tools is None:
        if "tool_choice" in body:
            yield "'tool_choice' is only allowed when 'tools' are specified."
        return
    if not tools:
        yield "[] is too short - 'tools'"
    names = [tool["function"]["name"] for tool in tools]
    if len(set(names)) != len(names):
        yield "tools: names must be unique"
    for number, tool in enumerate(tools):
        if not WORD.fullmatch(tool["function"]["name"]):
            yield f"Invalid 'tools[{number}].function.name': string does not match pattern."
        if tool["type"] != "function" or tool["function"]["parameters"].get("type") != "object":
            yield f"Invalid schema for function '{tool['function']['name']}': schema must be a JSON Schema of 'type: object'"
        if tool["function"].get("strict"):
            yield from of_strict(tool["function"]["parameters"], f"function '{tool['function']['name']}'")


def _of_format(form: Body | None) -> Iterator[str]:
    if form is not None:
        yield from of_strict(form["json_schema"]["schema"], "response_format")


def of_strict(schema: Body, of: str) -> Iterator[str]:
    """A strict schema names every field as required and allows no others."""
    if schema.get("additionalProperties") is not False:
        yield f"Invalid schema for {of}: 'additionalProperties' is required to be supplied and to be false."
    if set(schema.get("properties", {})) != set(schema.get("required", [])):
        yield f"Invalid schema for {of}: 'required' is required to be an array including every key in properties."
