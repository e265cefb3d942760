"""Refuse the requests that OpenAI's Responses API refuses; part of `tests.support.responses.server`.

The fields are those of the API's own types (package `openai`); its refusals are quoted from those
that people report.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.support.openai_rules import THINKERS, WORD, of_strict

Body = dict[str, Any]

ARGUMENTS = {
    "model", "input", "instructions", "stream", "store", "include", "tools", "tool_choice", "temperature",
    "max_output_tokens", "reasoning", "text", "parallel_tool_calls", "truncation", "prompt_cache_key", "metadata",
}  # fmt: skip
#: The required and the optional fields of each type of item.
ITEMS = {
    "message": ({"role", "content"}, {"id", "status", "phase"}),
    "reasoning": ({"id", "summary"}, {"encrypted_content", "content"}),
    "function_call": ({"call_id", "name", "arguments"}, {"id", "status"}),
    "function_call_output": ({"call_id", "output"}, {"id", "status"}),
}
PARTS = {
    "user": {"input_text", "input_image", "input_file"},
    "assistant": {"output_text", "refusal"},
}
IDS = {"message": "msg", "reasoning": "rs", "function_call": "fc"}
LONGEST_ID, LOWEST_LIMIT = 64, 16

Objection = tuple[str, str, str]


def objections(body: Body) -> Iterator[Objection]:
    """Every reason to answer 400: its words, and the `param` and `code` that go with them."""
    for name in sorted(body.keys() - ARGUMENTS):
        yield f"Unknown parameter: '{name}'.", name, "unknown_parameter"
    # Servers on one's own machine take everything.
    if body["model"] != "local-model":
        yield from _of_models(body, thinks=bool(THINKERS.match(body["model"])))
    yield from _of_arguments(body)
    yield from _of_tools(body)
    yield from _of_items(body.get("input") or [])
    yield from ((words, "input", "") for words in _of_pairs(body.get("input") or []))


def _of_models(body: Body, *, thinks: bool) -> Iterator[Objection]:
    unsupported = "Unsupported parameter: '{}' is not supported with this model."
    if thinks and "temperature" in body:
        yield unsupported.format("temperature"), "temperature", ""
    if not thinks and body.get("include"):
        yield "Encrypted content is not supported with this model.", "", ""
    for name in () if thinks else body.get("reasoning", ()):
        yield unsupported.format(f"reasoning.{name}"), f"reasoning.{name}", "unsupported_parameter"


def _of_arguments(body: Body) -> Iterator[Objection]:
    for name in body.get("reasoning", {}).keys() - {"effort", "summary", "context"}:
        yield f"Unknown parameter: 'reasoning.{name}'.", f"reasoning.{name}", "unknown_parameter"
    if body.get("max_output_tokens", LOWEST_LIMIT) < LOWEST_LIMIT:
        words = f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {LOWEST_LIMIT}."
        yield words, "max_output_tokens", "integer_below_min_value"
    form = body.get("text", {}).get("format")
    if form is not None:
        if set(form) - {"description"} != {"type", "name", "schema", "strict"}:
            yield "Missing required parameter: 'text.format.name'.", "text.format.name", "missing_required_parameter"
        else:
            yield from ((words, "text.format.schema", "") for words in of_strict(form["schema"], "response_format"))


def _of_tools(body: Body) -> Iterator[Objection]:
    tools = body.get("tools") or []
    for number, tool in enumerate(tools):
        at = f"tools[{number}]"
        for name in sorted({"type", "name", "parameters"} - tool.keys()):
            yield f"Missing required parameter: '{at}.{name}'.", f"{at}.{name}", "missing_required_parameter"
        for name in sorted(tool.keys() - {"type", "name", "description", "parameters", "strict"}):
            yield f"Unknown parameter: '{at}.{name}'.", f"{at}.{name}", "unknown_parameter"
        if not WORD.fullmatch(tool.get("name", "none")):
            yield f"Invalid '{at}.name': string does not match pattern.", f"{at}.name", "invalid_value"
        # Unlike in Chat Completions, a function is strict unless it says otherwise.
        if "parameters" in tool and tool.get("strict", True):
            of = f"function '{tool.get('name')}'"
            yield from ((words, f"{at}.parameters", "") for words in of_strict(tool["parameters"], of))
    choice = body.get("tool_choice", "auto")
    if choice not in ("auto", "none", "required") and not _names_one(choice, tools):
        yield f"Tool choice '{choice}' not found in 'tools' parameter.", "tool_choice", ""
    if choice == "required" and not tools:
        yield "Tool choice 'required' must be specified with 'tools' parameter.", "tool_choice", ""


def _names_one(choice: Any, tools: list[Body]) -> bool:
    return choice in [{"type": "function", "name": tool.get("name")} for tool in tools]


def _of_items(items: list[Body]) -> Iterator[Objection]:
    seen: set[str] = set()
    for number, item in enumerate(items):
        at = f"input[{number}]"
        kind = item.get("type", "message")
        if kind not in ITEMS:
            yield f"Invalid value: '{kind}'. Supported values are: {', '.join(ITEMS)}.", at, "invalid_value"
            continue
        required, allowed = ITEMS[kind]
        for name in sorted(required - item.keys()):
            yield f"Missing required parameter: '{at}.{name}'.", f"{at}.{name}", "missing_required_parameter"
            return
        for name in sorted(item.keys() - required - allowed - {"type"}):
            yield f"Unknown parameter: '{at}.{name}'.", f"{at}.{name}", "unknown_parameter"
        for name, longest in (("id", LONGEST_ID), ("call_id", LONGEST_ID)):
            if name in item and not 0 < len(item[name]) <= longest:
                words = f"Invalid '{at}.{name}': string too long. Expected a string with maximum length {longest}."
                yield words, f"{at}.{name}", "string_above_max_length"
        if "id" in item and kind in IDS and not item["id"].startswith(f"{IDS[kind]}_"):
            words = f"Invalid '{at}.id': '{item['id']}'. Expected an ID that begins with '{IDS[kind]}'."
            yield words, f"{at}.id", "invalid_value"
        if item.get("id") in seen:
            yield (
                f"Duplicate item found with id {item['id']}. Remove duplicate items from your input and try again.",
                at,
                "",
            )
        seen |= {item["id"]} if "id" in item else set()
        yield from _of_fields(at, kind, item)


def _of_fields(at: str, kind: str, item: Body) -> Iterator[Objection]:
    wrong = "Invalid type for '{}': expected {}."
    if kind == "message":
        if "id" in item and item.get("status") not in {"completed", "incomplete", "in_progress"}:
            yield f"Missing required parameter: '{at}.status'.", f"{at}.status", "missing_required_parameter"
        if item["role"] not in PARTS:
            yield f"Invalid value: '{item['role']}'.", f"{at}.role", "invalid_value"
        elif item["role"] == "assistant" and isinstance(item["content"], list) != ("id" in item):
            # So says the declaration: an answer is either the item that it was, or a text.
            yield wrong.format(f"{at}.content", "a string, or an array of content parts with an id"), at, "invalid_type"
        elif not isinstance(item["content"], str):
            yield from _of_parts(f"{at}.content", item["content"], PARTS[item["role"]])
    if kind == "function_call" and not isinstance(item["arguments"], str):
        yield wrong.format(f"{at}.arguments", "a string"), f"{at}.arguments", "invalid_type"
    if kind == "function_call" and not WORD.fullmatch(item["name"]):
        yield f"Invalid '{at}.name': string does not match pattern.", f"{at}.name", "invalid_value"
    if kind == "function_call_output" and not isinstance(item["output"], str):
        yield from _of_parts(f"{at}.output", item["output"], PARTS["user"])
    if kind == "reasoning" and not all(part.keys() == {"type", "text"} for part in item["summary"]):
        yield wrong.format(f"{at}.summary", "an array of texts"), f"{at}.summary", "invalid_type"


def _of_parts(at: str, parts: list[Body], allowed: set[str]) -> Iterator[Objection]:
    if not parts:
        yield f"Invalid '{at}': empty array.", at, "empty_array"
    for number, part in enumerate(parts):
        name = f"{at}[{number}]"
        match part:
            case {"type": str(kind)} if kind not in allowed:
                words = f"Invalid value: '{kind}'. Supported values are: {', '.join(sorted(allowed))}."
                yield words, name, "invalid_value"
            case {"type": "input_text", "text": str(), **rest} if not rest:
                pass
            case {"type": "output_text", "text": str(), "annotations": list(), **rest} if not rest:
                pass
            case {"type": "refusal", "refusal": str(), **rest} if not rest:
                pass
            case {"type": "input_image", "image_url": str(url), "detail": "auto", **rest} if not rest:
                if not url.startswith(("data:image/", "https:")):
                    yield "Invalid image URL.", name, "invalid_image_url"
            case {"type": "input_file", "filename": str(), "file_data": str(data), **rest} if not rest:
                if not data.startswith("data:"):
                    yield "Expected a base64-encoded data URL.", name, "invalid_value"
            case _:
                yield f"Unknown parameter in '{name}'.", name, "unknown_parameter"


def _of_pairs(items: list[Body]) -> Iterator[str]:
    """Check that calls have results, and that a thought comes back with the item the model made of it."""
    kinds = [item.get("type", "message") for item in items]
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    if len(set(calls)) != len(calls):
        yield "Duplicate call_id in function calls."
    made: set[str] = set()
    for item, kind, following in zip(items, kinds, [*kinds[1:], ""], strict=True):
        if kind == "function_call":
            made.add(item["call_id"])
        elif kind == "function_call_output":
            if item["call_id"] not in made:
                yield f"No tool call found for function call output with call_id {item['call_id']}."
            made.discard(item["call_id"])
        elif kind == "reasoning" and following not in {"message", "function_call", "reasoning"}:
            yield f"Item '{item['id']}' of type 'reasoning' was provided without its required following item."
    yield from (f"No tool output found for function call {call_id}." for call_id in calls if call_id in made)
