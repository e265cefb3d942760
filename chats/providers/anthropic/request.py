"""Anthropic's request: the conversation, tools and sampling in the terms that one model accepts. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from chats.agent.agent import ADAPTIVE, Agent
from chats.agent.provider import ModelMessage, ModelRequest

NAME = "anthropic"
THOUGHTS = frozenset({"thinking", "redacted_thinking"})
#: Block types that any message may hold. A model's own messages also return its thoughts and the use of Anthropic's server
#: tools. Blocks of other types stay in the stored step and are not sent, because the API refuses types that it does not know.
SENT = frozenset({"text", "tool_use", "tool_result", "image", "document"})
EMPTY = {"type": "text", "text": "(nothing said)"}
NO_TOOLS = {"name": "none", "description": "There are no tools any more.", "input_schema": {"type": "object"}}


def request_arguments(request: ModelRequest, model: str, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the arguments of `messages.create`, with the system prompt and the tools marked for prompt caching.

    `without` names what this model was found to refuse: "temperature", "enabled" or "adaptive" thinking, or "thoughts",
    the thinking blocks of earlier answers.
    """
    agent = request.agent
    messages = [_message(message, model, thoughts="thoughts" not in without) for message in request.messages]
    last = messages[-1]["content"][-1]
    if messages[-1]["role"] == "assistant" and last["type"] == "text":
        # After `pause_turn` the API continues this message, and refuses one that ends in white space.
        messages[-1]["content"][-1] = last | {"text": last["text"].rstrip()}
    arguments: dict[str, Any] = {"model": model, "messages": messages, "max_tokens": agent.max_tokens}
    if agent.system.strip():
        arguments["system"] = [{"type": "text", "text": agent.system, "cache_control": {"type": "ephemeral"}}]
    if agent.tools:
        tools: list[dict[str, Any]] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in agent.tools
        ]
        tools[-1]["cache_control"] = {"type": "ephemeral"}
        arguments["tools"] = tools
    elif any(block["type"] == "tool_use" for message in messages for block in message["content"]):
        # The API refuses a history with tool calls in a request without tools.
        arguments |= {"tools": [NO_TOOLS], "tool_choice": {"type": "none"}}
    return arguments | _sampling(agent, messages, without)


def _sampling(agent: Agent, messages: list[dict[str, Any]], without: Collection[str]) -> dict[str, Any]:
    """Return the arguments for thinking or for the temperature; the API accepts only one of them."""
    if not agent.thinking:
        # The SDK has dropped this argument, but older models still accept it.
        sampling = {"extra_body": {"temperature": agent.temperature}}
        return {} if agent.temperature is None or "temperature" in without else sampling
    if agent.thinking == ADAPTIVE or "enabled" in without:
        return {} if ADAPTIVE in without else {"thinking": {"type": ADAPTIVE}}
    if not _turn_began_with_thinking(messages):
        return {}
    budget = int(agent.thinking)
    return {"thinking": {"type": "enabled", "budget_tokens": budget}, "max_tokens": agent.max_tokens + budget}


def _turn_began_with_thinking(messages: list[dict[str, Any]]) -> bool:
    """Return whether a thinking budget is allowed: a turn that began without thinking has to end without it."""
    first = None
    for message in reversed(messages):
        if message["role"] == "assistant":
            first = message
        elif any(block["type"] != "tool_result" for block in message["content"]):
            break
    return first is None or first["content"][0]["type"] in THOUGHTS


def _message(message: ModelMessage, model: str, *, thoughts: bool) -> dict[str, Any]:
    """Return a message as this model may see it: thoughts are signed for the model that made them."""
    own = message.provider == NAME and message.model == model
    content = [block for block in message.content if _is_sendable(block, own=own, thoughts=thoughts)]
    if not content or content[-1]["type"] in THOUGHTS:
        # The API refuses an empty message, and one that ends in a thought.
        content.append(EMPTY)
    return {"role": message.role, "content": content}


def _is_sendable(block: dict[str, Any], *, own: bool, thoughts: bool) -> bool:
    kind = str(block.get("type"))
    if kind in THOUGHTS:
        # The API refuses a thought that was cut off before it was signed.
        return own and thoughts and bool(block.get("signature") or block.get("data"))
    return kind in SENT or (own and (kind == "server_tool_use" or kind.endswith("_tool_result")))
