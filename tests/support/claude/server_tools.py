"""The tools that the API or models know by their type: how they are declared, and how uses and results come in pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Blocks = list[dict[str, Any]]

#: The tools whose results the API returns itself, MCP servers included.
NAMES = (
    "web_search",
    "web_fetch",
    "code_execution",
    "bash_code_execution",
    "text_editor_code_execution",
    "tool_search",
    "mcp",
)
RESULTS = {f"{name}_tool_result" for name in NAMES}
USES = {"server_tool_use", "mcp_tool_use"}
#: The options of each tool, by its type.
WEB = {"type", "name", "allowed_callers", "max_uses", "allowed_domains", "blocked_domains", "cache_control"}
COMMON = {"type", "name", "allowed_callers", "cache_control", "defer_loading", "input_examples", "strict"}
TYPES = {
    "web_search_20250305": WEB,
    "web_search_20260318": WEB,
    "web_fetch_20260318": WEB | {"citations", "max_content_tokens"},
    "code_execution_20260521": {"type", "name", "allowed_callers", "cache_control"},
    "bash_20250124": COMMON,
    "text_editor_20250728": COMMON | {"max_characters"},
    "memory_20250818": COMMON,
    "tool_search_tool_bm25_20251119": COMMON,
    "tool_search_tool_regex_20251119": COMMON,
}
#: Where the name of a tool is another one than its type says.
CALLED = {"text_editor": "str_replace_based_edit_tool"}
TOOLSET = {"type", "mcp_server_name", "default_config", "configs", "cache_control"}
CUSTOM = COMMON | {"description", "input_schema", "eager_input_streaming"}


def is_own(tool: Mapping[str, Any]) -> bool:
    """Whether the client describes this tool."""
    return tool.get("type", "custom") == "custom"


def of_declarations(tools: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for number, tool in enumerate(tools):
        at, kind = f"tools.{number}", tool.get("type", "custom")
        options = {"custom": CUSTOM, "mcp_toolset": TOOLSET}.get(kind) or TYPES.get(kind)
        if options is None:
            yield f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            continue
        for option in sorted(tool.keys() - options):
            yield f"{at}.{kind}.{option}: Extra inputs are not permitted"
        if kind not in TYPES:
            continue
        name = CALLED.get(kind.rpartition("_")[0], kind.rpartition("_")[0])
        if tool["name"] != name:
            yield f"{at}.{kind}.name: Input should be '{name}'"
        if tool.get("allowed_domains") and tool.get("blocked_domains"):
            yield f"{at}: only one of allowed_domains or blocked_domains may be used"
        if any("://" in domain for key in ("allowed_domains", "blocked_domains") for domain in tool.get(key, ())):
            yield f"{at}: domains must not include a scheme"


def provided(use: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a request declares the tool that a use names. The tool for code is used by more than one name."""
    if use["type"] == "mcp_tool_use":
        return any(tool.get("mcp_server_name") == use["server_name"] for tool in tools)
    declared = "code_execution" if use["name"].endswith("code_execution") else use["name"]
    return any(tool.get("name") == declared and not is_own(tool) for tool in tools)


def waiting_uses(turns: Sequence[tuple[str, Blocks]]) -> list[str]:
    """The names of the tools that were used in the last turn of the assistant and have no result."""
    begin = max(
        (
            n
            for n, (role, blocks) in enumerate(turns)
            if role == "user" and any(b["type"] != "tool_result" for b in blocks)
        ),
        default=0,
    )
    blocks = [block for _, said in turns[begin:] for block in said]
    results = {block["tool_use_id"] for block in blocks if block["type"] in RESULTS}
    return [block["name"] for block in blocks if block["type"] in USES and block["id"] not in results]


def of_pairs(turns: Sequence[tuple[str, Blocks]], tools: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A use has its result in the same turn of the assistant, which goes on after results of the client's own tools.

    Only the uses of its last message may wait for theirs: one at its very end, or those beside calls that have results now.
    """
    waiting: dict[str, tuple[int, dict[str, Any]]] = {}
    seen: set[str] = set()
    for number, (role, blocks) in enumerate(turns):
        if role == "user" and any(block["type"] != "tool_result" for block in blocks):
            yield from map(_alone, waiting.items())
            waiting, seen = {}, set()
        for position, block in enumerate(blocks):
            if block["type"] in USES:
                waiting[block["id"]] = (number, block)
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
    for call_id, (number, use) in waiting.items():
        at_the_end = number == len(turns) - 1 and turns[-1][1][-1].get("id") == call_id
        resumed = number == last == len(turns) - 2
        if not (at_the_end or resumed):
            yield _alone((call_id, (number, use)))
        elif not provided(use, tools):
            yield f"{_alone((call_id, (number, use)))}, but no `{use['name']}` tool was provided"


def _alone(waiting: tuple[str, tuple[int, dict[str, Any]]]) -> str:
    call_id, (number, use) = waiting
    name = use["name"]
    return (
        f"messages.{number}: `{name}` tool use with id `{call_id}` was found without a corresponding "
        f"`{name}_tool_result` block"
    )
