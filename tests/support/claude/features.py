"""The API's arguments besides messages and tools: each with its beta, MCP servers, fallbacks, files and containers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

Body = Mapping[str, Any]
Block = Mapping[str, Any]

MCP, FALLBACK = "mcp-client-2025-11-20", "server-side-fallback-2026-07-01"
#: The arguments that every request may have.
TAKEN = {
    *("model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "stop_sequences", "stream"),
    *("temperature", "top_p", "top_k", "metadata", "output_config", "service_tier", "inference_geo", "container"),
    *("cache_control", "diagnostics"),
}
#: Those that need one of these beta features.
IN_BETA = {
    "mcp_servers": {MCP},
    "fallbacks": {FALLBACK},
    "context_management": {"compact-2026-01-12", "context-management-2025-06-27"},
    "speed": {"fast-mode-2026-02-01"},
}
BLOCKS_IN_BETA = {"mcp_tool_use": MCP, "mcp_tool_result": MCP, "mcp_tool_listing": MCP, "fallback": FALLBACK}
LEFT_OUT = frozenset({"thinking", "redacted_thinking", "tool_use"})


def of_arguments(body: Body, betas: Collection[str]) -> Iterator[str]:
    for name in body:
        if name not in TAKEN and not IN_BETA.get(name, set()) & set(betas):
            yield f"{name}: Extra inputs are not permitted"
    for number, message in enumerate(body["messages"]):
        for position, block in enumerate(message["content"]):
            if BLOCKS_IN_BETA.get(block["type"], "") not in {"", *betas}:
                yield (
                    f"messages.{number}.content.{position}: Input tag '{block['type']}' does not match any of the "
                    "expected tags"
                )


def of_mcp(body: Body) -> Iterator[str]:
    servers = [server["name"] for server in body.get("mcp_servers", [])]
    toolsets = [tool["mcp_server_name"] for tool in body.get("tools", []) if tool.get("type") == "mcp_toolset"]
    if len(set(servers)) != len(servers) or len(set(toolsets)) != len(toolsets):
        yield "mcp_servers: names must be unique"
    for name in toolsets:
        if name not in servers:
            yield f"tools: MCP server '{name}' not found in mcp_servers"
    for name in servers:
        if name not in toolsets:
            yield f"mcp_servers: MCP server '{name}' must be referenced by exactly one mcp_toolset"
    for server in body.get("mcp_servers", []):
        if server.get("type") != "url" or not server["url"].startswith("https://"):
            yield "mcp_servers.0.url: must start with https://"
        if extra := server.keys() - {"type", "url", "name", "authorization_token"}:
            yield f"mcp_servers.0.{min(extra)}: Extra inputs are not permitted"


def of_fallbacks(body: Body) -> Iterator[str]:
    fallbacks = body.get("fallbacks")
    if fallbacks is not None and fallbacks != "default":
        models = [entry["model"] for entry in fallbacks]
        if not models or body["model"] in models or len(set(models)) != len(models):
            yield "fallbacks: each model must be distinct, and not the one that is asked"
    for number, message in enumerate(body["messages"]):
        last = handed_over(message["content"])
        if any(block["type"] in LEFT_OUT for block in message["content"][:last]):
            yield f"messages.{number}: thinking and tool_use blocks before the final `fallback` block must be left out"


def handed_over(content: Sequence[Block]) -> int:
    """The place of the last fallback in an answer; 0 without one."""
    return max((place for place, block in enumerate(content) if block["type"] == "fallback"), default=0)


def echoed(content: Sequence[Block]) -> list[Block]:
    """Return an answer as it must be sent back: without the blocks that a refusal may have cut off."""
    last = handed_over(content)
    return [block for place, block in enumerate(content) if place >= last or block["type"] not in LEFT_OUT]


def of_deferred(body: Body) -> Iterator[str]:
    tools = body.get("tools", [])
    for tool in tools:
        if tool.get("defer_loading") and "cache_control" in tool:
            yield (
                f"Tool '{tool['name']}' cannot have both defer_loading=true and cache_control set. "
                "Tools with defer_loading cannot use prompt caching."
            )
    if tools and all(tool.get("defer_loading") for tool in tools):
        yield "At least one tool must have defer_loading=false"
    there = {tool.get("name") for tool in tools}
    for name in found_tools(body["messages"]):
        if name not in there:
            yield f"Tool reference '{name}' not found in available tools"


def found_tools(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of the tools that searches in these messages have found."""
    results = (
        block["content"]
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_search_tool_result"
    )
    return [each["tool_name"] for content in results for each in content.get("tool_references", ())]


def of_containers(body: Body, containers: Collection[str], waiting: Collection[str]) -> Iterator[str]:
    """`containers` are the existing ones, `waiting` the server tools without a result yet."""
    container = body.get("container")
    if container is not None and container not in containers:
        yield f"container: {container} does not exist or has expired"
    if container is None and any(name.endswith("code_execution") for name in waiting):
        yield "container_id is required when there are pending tool uses generated by code execution with tools."
    uploads = [
        block for message in body["messages"] for block in message["content"] if block["type"] == "container_upload"
    ]
    if uploads and all(tool.get("name") != "code_execution" for tool in body.get("tools", [])):
        yield "container_upload: requires the code_execution tool"


def missing_file(body: Body, files: Collection[str]) -> str:
    """The id of a file that is named and was never uploaded; "" without one."""
    for message in body["messages"]:
        for block in message["content"]:
            source = block.get("source") or {}
            named = block.get("file_id") or (source.get("file_id") if isinstance(source, dict) else None)
            if named and named not in files:
                return str(named)
    return ""


def unoffered(body: Body, answer: Sequence[Block]) -> str:
    """Return the tool that a test makes Claude use although it can't: one not found, or not enabled."""
    deferred = {tool["name"] for tool in body.get("tools", []) if tool.get("defer_loading")}
    found = set(found_tools([*body["messages"], {"content": answer}]))
    enabled = {
        (tool["mcp_server_name"], name)
        for tool in body.get("tools", [])
        if tool.get("type") == "mcp_toolset"
        for name, config in tool.get("configs", {}).items()
        if config.get("enabled")
    }
    for block in answer:
        if block["type"] == "tool_use" and block["name"] in deferred - found:
            return str(block["name"])
        if (
            body.get("mcp_servers")
            and block["type"] == "mcp_tool_use"
            and (block["server_name"], block["name"]) not in enabled
        ):
            return f"{block['server_name']}.{block['name']}"
    return ""
