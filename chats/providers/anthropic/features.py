"""Arguments for what the API does besides answering: MCP servers, fallbacks, uploaded files, a container, and those of `extra`.

Pure. They go around the SDK's types, which know them as beta features only (https://platform.claude.com/docs/en/api/messages).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from chats.agent.agent import Agent
from chats.agent.extra import BETAS
from chats.agent.mcp_servers import McpServer
from chats.agent.provider import ModelRequest
from chats.agent.server_tools import CODE
from chats.agent.uploads import UploadedFile
from chats.providers.anthropic.blocks import begins_turn, is_own
from chats.providers.anthropic.history import FALLBACK, History

MCP_BETA, FALLBACK_BETA = "mcp-client-2025-11-20", "server-side-fallback-2026-07-01"


def feature_arguments(agent: Agent, history: History, container: str) -> tuple[dict[str, Any], list[str]]:
    """Return these arguments for one request, and the names of the beta features that they need."""
    arguments = {name: value for name, value in agent.extra.items() if name != BETAS}
    betas = list(agent.extra.get(BETAS, ()))
    if agent.mcp_servers:
        arguments["mcp_servers"] = [_mcp_server(server) for server in agent.mcp_servers]
        betas.append(MCP_BETA)
    if agent.fallbacks:
        by_default = agent.fallbacks == "default"
        arguments["fallbacks"] = "default" if by_default else [{"model": model} for model in agent.fallbacks]
    # Without the feature, the API does not know the block that an earlier fallback has left.
    if agent.fallbacks or any(block["type"] == FALLBACK for each in history.messages for block in each["content"]):
        betas.append(FALLBACK_BETA)
    if container:
        arguments["container"] = container
    return arguments, betas


def container(request: ModelRequest, model: str, without: Collection[str]) -> str:
    """Return the container in which code has run in this turn; "" if there is none, or if the API refused it."""
    if "container" in without or all(tool.name != CODE for tool in request.agent.server_tools):
        return ""
    for message in reversed(request.messages):
        if begins_turn(message):
            break
        if is_own(message, model) and message.container:
            return message.container
    return ""


def secrets_in(arguments: Mapping[str, Any]) -> list[str]:
    """Return the tokens of MCP servers in the arguments of a request."""
    servers = arguments.get("extra_body", {}).get("mcp_servers", ())
    return [server["authorization_token"] for server in servers if "authorization_token" in server]


def file_blocks(agent: Agent) -> list[dict[str, Any]]:
    """Return the blocks with the agent's files, with which each of its chats begins."""
    return [_file_block(file) for file in agent.files]


def _file_block(file: UploadedFile) -> dict[str, Any]:
    if file.use == "container":
        return {"type": "container_upload", "file_id": file.file_id}
    block = {"type": file.use, "source": {"type": "file", "file_id": file.file_id}}
    return block | ({"title": file.title} if file.title else {})


def _mcp_server(server: McpServer) -> dict[str, Any]:
    arguments = {"type": "url", "url": server.url, "name": server.name}
    token = server.secret
    return arguments | ({"authorization_token": token} if token else {})
