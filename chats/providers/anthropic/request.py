"""Anthropic's request: the conversation, tools and settings in the terms that one model accepts. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from approvals.json_types import JsonDict
from chats.agent.provider import ModelRequest
from chats.providers.anthropic.blocks import NAME
from chats.providers.anthropic.caching import marked_for_cache
from chats.providers.anthropic.compaction import context_management
from chats.providers.anthropic.features import container, feature_arguments, file_blocks
from chats.providers.anthropic.history import RequestMessages, sendable_history
from chats.providers.anthropic.models import Takes
from chats.providers.anthropic.models import takes as takes_by_name
from chats.providers.anthropic.settings import setting_arguments, tool_arguments

__all__ = ["NAME", "Payload", "request_arguments"]

NO_TOOLS = {
    "name": "none",
    "description": "There are no tools any more.",
    "input_schema": {"type": "object"},
}


@dataclass(frozen=True, slots=True)
class Payload:
    """The arguments of `messages.create`, and the history in them."""

    arguments: JsonDict
    history: RequestMessages


def request_arguments(
    request: ModelRequest,
    model: str,
    without: Collection[str] = (),
    takes: Takes | None = None,
    *,
    skip: int = 0,
) -> Payload:
    """Return the request to `model`, with the prompt marked for caching.

    `without` names features that this model was found to refuse: "temperature", "effort", "compaction", "enabled" or "adaptive"
    thinking, "thoughts" (the thinking blocks of earlier answers), or the "container" in which code ran. `skip` is the number of
    messages to leave out.
    """
    agent = request.agent
    takes = takes or takes_by_name(model)
    opening: JsonDict = {}
    choice: JsonDict = {}
    if agent.system.strip():
        opening["system"] = [{"type": "text", "text": agent.system}]
    if agent.tools or agent.server_tools or agent.mcp_servers:
        opening["tools"] = tool_arguments(agent)
    elif any(
        block.get("type") == "tool_use"
        for message in request.messages
        for block in message.content
    ):
        # The API refuses a history with tool calls in a request without tools.
        opening["tools"] = [NO_TOOLS]
        choice["tool_choice"] = {"type": "none"}
    history = sendable_history(
        request.messages,
        model,
        opening,
        files=file_blocks(agent),
        thoughts="thoughts" not in without,
        summaries=takes.compaction and "compaction" not in without,
        in_container="container" not in without,
        skip=skip,
    )
    arguments = {
        "model": model,
        "max_tokens": agent.max_tokens,
        **opening,
        "messages": history.messages,
        **choice,
    }
    arguments |= setting_arguments(agent, history.messages, without, takes)
    context, betas = (
        ({}, []) if "compaction" in without else context_management(history, takes)
    )
    features, more_betas = feature_arguments(
        agent, history, container(request, model, without)
    )
    # The temperature is in the same argument.
    if extra := arguments.get("extra_body", {}) | context | features:
        arguments["extra_body"] = extra
    if named := list(dict.fromkeys([*betas, *more_betas])):
        arguments["extra_headers"] = {"anthropic-beta": ",".join(named)}
    return Payload(marked_for_cache(arguments, agent.cache_minutes), history)
