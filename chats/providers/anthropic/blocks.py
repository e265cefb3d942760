"""Blocks of stored messages: their origin, and which uses of the API's own tools and of MCP servers can be sent back. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from approvals.json_types import JsonDict, JsonMapping
from chats.agent.provider import ModelMessage
from chats.agent.server_tools import CODE

NAME = "anthropic"
Block = JsonDict

MCP_USE = "mcp_tool_use"
USES = frozenset({"server_tool_use", MCP_USE})
#: Prefix of the name of an MCP server, whose tools are declared together.
_MCP = "mcp:"


def is_own(message: ModelMessage, model: str) -> bool:
    """Return whether `model` was asked for this message; thoughts are signed for the model that made them."""
    return message.provider == NAME and message.model == model


def begins_turn(message: ModelMessage) -> bool:
    """Return whether a conversation may begin with this message: a person's, without results of earlier calls."""
    return message.role == "user" and all(
        block.get("type") != "tool_result" for block in message.content
    )


def declared_names(tools: Sequence[JsonMapping]) -> frozenset[str]:
    """Return the names declared by the tools of a request, in the form of `declared_name` for their uses."""
    servers = {
        f"{_MCP}{tool['mcp_server_name']}"
        for tool in tools
        if "mcp_server_name" in tool
    }
    return frozenset({str(tool.get("name")) for tool in tools} | servers)


def declared_name(use: JsonMapping) -> str:
    """Return the name under which a used tool of the API is declared; the one for code is used by three names."""
    if use.get("type") == MCP_USE:
        return f"{_MCP}{use.get('server_name')}"
    name = str(use.get("name"))
    return CODE if name.endswith(CODE) else name


def declares_server(declared: frozenset[str], listing: JsonMapping) -> bool:
    """Return whether the MCP server of a list of tools is among the declared ones; the API refuses other lists."""
    return f"{_MCP}{listing.get('mcp_server_name')}" in declared


def used_id(block: JsonMapping) -> str:
    """Return the id in a use of an API tool, or in the result of one; "" for any other block."""
    kind = str(block.get("type"))
    if kind in USES:
        return str(block.get("id") or "")
    return str(block.get("tool_use_id") or "") if kind.endswith("_tool_result") else ""


def sendable_ids(
    messages: Sequence[ModelMessage],
    place: int,
    model: str,
    declared: frozenset[str],
    *,
    in_container: bool,
) -> frozenset[str]:
    """Return the ids of the API's tool uses with a result, in the model's turn around this message.

    When the last answer is sent back, the API runs the uses pending at its end: the last use of a paused answer, and those
    beside calls of our tools, whose results come first. It refuses that without the tool, and for code without the container,
    which may be gone. It recognizes uses of an MCP server only while the server is declared.
    """
    begin = place
    end = place + 1
    while begin > 0 and _goes_on(messages[begin - 1]):
        begin -= 1
    while end < len(messages) and _goes_on(messages[end]):
        end += 1
    answers = [
        message.content for message in messages[begin:end] if is_own(message, model)
    ]
    used: set[str] = set()
    paired: set[str] = set()
    for block in chain.from_iterable(answers):
        call_id = used_id(block)
        if block.get("type") == "server_tool_use" or (
            block.get("type") in USES and declared_name(block) in declared
        ):
            used.add(call_id)
        elif call_id in used:
            paired.add(call_id)
    if end == len(messages) and answers:
        last = answers[-1] if messages[-1].role == "user" else answers[-1][-1:]
        goes_on = declared if in_container else declared - {CODE}
        waits = (block for block in last if block.get("type") in USES)
        paired |= {used_id(block) for block in waits if declared_name(block) in goes_on}
    return frozenset(paired - {""})


def _goes_on(message: ModelMessage) -> bool:
    """Return whether a message belongs to a turn of the model: an answer, or results of our tools for it."""
    return message.role == "assistant" or all(
        block.get("type") == "tool_result" for block in message.content
    )
