"""The tools that the API runs itself: how they are declared, and how their uses and results come in pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Blocks = list[dict[str, Any]]

#: What the API's own tools return; blocks of MCP connectors need a beta header, which nobody here sends.
NAMES = ("web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution")
RESULTS = {f"{name}_tool_result" for name in NAMES}
#: The options of each tool, by its type.
WEB = {"type", "name", "allowed_callers", "max_uses", "allowed_domains", "blocked_domains", "cache_control"}
TYPES = {
    "web_search_20250305": WEB,
    "web_search_20260318": WEB,
    "web_fetch_20260318": WEB | {"citations", "max_content_tokens"},
    "code_execution_20260521": {"type", "name", "allowed_callers", "cache_control"},
}


def is_own(tool: Mapping[str, Any]) -> bool:
    """Whether the client runs this tool."""
    return tool.get("type", "custom") == "custom"


def of_declarations(tools: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for number, tool in enumerate(tools):
        if is_own(tool):
            continue
        at, kind = f"tools.{number}", tool["type"]
        if kind not in TYPES:
            yield f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            continue
        for option in sorted(tool.keys() - TYPES[kind]):
            yield f"{at}.{kind}.{option}: Extra inputs are not permitted"
        if tool["name"] != kind.rpartition("_")[0]:
            yield f"{at}.{kind}.name: Input should be '{kind.rpartition('_')[0]}'"
        if tool.get("allowed_domains") and tool.get("blocked_domains"):
            yield f"{at}: only one of allowed_domains or blocked_domains may be used"
        if any("://" in domain for key in ("allowed_domains", "blocked_domains") for domain in tool.get(key, ())):
            yield f"{at}: domains must not include a scheme"


def provided(name: str, tools: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a request declares the tool that a use names. The tool for code is used by more than one name."""
    declared = "code_execution" if name.endswith("code_execution") else name
    return any(tool["name"] == declared and not is_own(tool) for tool in tools)


def of_pairs(turns: Sequence[tuple[str, Blocks]], tools: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A use has its result in the same turn of the assistant, which goes on after results of the client's own tools.

    Only the uses of its last message may wait for theirs: one at its very end, or those beside calls that have results now.
    """
    waiting: dict[str, tuple[int, str]] = {}
    seen: set[str] = set()
    for number, (role, blocks) in enumerate(turns):
        if role == "user" and any(block["type"] != "tool_result" for block in blocks):
            yield from map(_alone, waiting.items())
            waiting, seen = {}, set()
        for position, block in enumerate(blocks):
            if block["type"] == "server_tool_use":
                waiting[block["id"]] = (number, block["name"])
                seen.add(block["id"])
            elif block["type"] in RESULTS and block["tool_use_id"] not in seen:
                kind = block["type"]
                yield (
                    f"messages.{number}.content.{position}: unexpected `tool_use_id` found in `{kind}` blocks: "
                    f"{block['tool_use_id']}. Each `{kind}` block must have a corresponding `server_tool_use` "
                    "block before it."
                )
            elif block["type"] in RESULTS:
                waiting.pop(block["tool_use_id"], None)
    last = max((number for number, (role, _) in enumerate(turns) if role == "assistant"), default=-1)
    for call_id, (number, name) in waiting.items():
        at_the_end = number == len(turns) - 1 and turns[-1][1][-1].get("id") == call_id
        resumed = number == last == len(turns) - 2
        if not (at_the_end or resumed):
            yield _alone((call_id, (number, name)))
        elif not provided(name, tools):
            yield f"{_alone((call_id, (number, name)))}, but no `{name}` tool was provided"


def _alone(use: tuple[str, tuple[int, str]]) -> str:
    call_id, (number, name) = use
    return (
        f"messages.{number}: `{name}` tool use with id `{call_id}` was found without a corresponding "
        f"`{name}_tool_result` block"
    )
