"""Arguments for additional API features: MCP servers, fallbacks, uploaded files, a container, and those of `extra`.

Pure. They bypass the SDK's types, which know them only as beta features (https://platform.claude.com/docs/en/api/messages).
"""

from __future__ import annotations

from collections.abc import Collection

from approvals.json_types import JsonDict, JsonMapping
from chats.agent.agent import Agent
from chats.agent.extra import BETAS
from chats.agent.mcp_servers import McpServer
from chats.agent.provider import ModelRequest
from chats.agent.server_tools import CODE
from chats.agent.uploads import UploadedFile
from chats.providers.anthropic.blocks import begins_turn, is_own
from chats.providers.anthropic.history import FALLBACK, RequestMessages

MCP_BETA = "mcp-client-2025-11-20"
FALLBACK_BETA = "server-side-fallback-2026-07-01"


def feature_arguments(
    agent: Agent, history: RequestMessages, container: str
) -> tuple[JsonDict, list[str]]:
    """Return these arguments for one request, and the names of the required beta features."""
    arguments = {name: value for name, value in agent.extra.items() if name != BETAS}
    betas = list(agent.extra.get(BETAS, ()))
    if agent.mcp_servers:
        arguments["mcp_servers"] = [_mcp_server(server) for server in agent.mcp_servers]
        betas.append(MCP_BETA)
    if agent.fallbacks:
        by_default = agent.fallbacks == "default"
        arguments["fallbacks"] = (
            "default" if by_default else [{"model": model} for model in agent.fallbacks]
        )
    # Without the feature, the API does not know the block left by an earlier fallback.
    if agent.fallbacks or any(
        block["type"] == FALLBACK
        for each in history.messages
        for block in each["content"]
    ):
        betas.append(FALLBACK_BETA)
    if container:
        arguments["container"] = container
    return arguments, betas


def container(request: ModelRequest, model: str, without: Collection[str]) -> str:
    """Return the container in which code has run in this turn; "" if there is none, or if the API refused it."""
    if "container" in without or all(
        tool.name != CODE for tool in request.agent.server_tools
    ):
        return ""
    for message in reversed(request.messages):
        if begins_turn(message):
            break
        if is_own(message, model) and message.container:
            return message.container
    return ""


def secrets_in(arguments: JsonMapping) -> list[str]:
    """Return the tokens of MCP servers in the arguments of a request."""
    servers = arguments.get("extra_body", {}).get("mcp_servers", ())
    return [
        server["authorization_token"]
        for server in servers
        if "authorization_token" in server
    ]


def file_blocks(agent: Agent) -> list[JsonDict]:
    """Return the blocks with the agent's files, with which each of its chats begins."""
    return [_file_block(file) for file in agent.files]


def _file_block(file: UploadedFile) -> JsonDict:
    if file.use == "container":
        return {"type": "container_upload", "file_id": file.file_id}
    block = {"type": file.use, "source": {"type": "file", "file_id": file.file_id}}
    return block | ({"title": file.title} if file.title else {})


def _mcp_server(server: McpServer) -> JsonDict:
    arguments = {"type": "url", "url": server.url, "name": server.name}
    token = server.secret
    return arguments | ({"authorization_token": token} if token else {})
