"""An agent's settings in the terms of Chat Completions: tools, how thorough, and the form of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import openai
from django.utils.translation import gettext as _
from pydantic import BaseModel

from chats.agent.agent import Agent
from chats.agent.tools import Tool
from chats.providers import names

#: The two names of the limit of an answer: OpenAI's models refuse the second, and other servers may ignore the first.
LIMITS = ("max_completion_tokens", "max_tokens")
#: Arguments that can be left out if a model refuses them.
OPTIONAL = ("temperature", "stream_options", "reasoning_effort", "stop", *LIMITS)
LONGEST_NAME = 64
MAX_STOPS = 4


def setting_arguments(agent: Agent, messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the arguments that follow from the agent alone. Its `thinking` is not among them: these APIs take an effort."""
    choice = _tool_choice(agent, messages) if agent.tools else None
    arguments = {
        "tools": [_tool(tool) for tool in agent.tools] or None,
        "tool_choice": choice,
        "temperature": agent.temperature,
        "reasoning_effort": agent.effort or None,
        "stop": list(agent.stop_sequences) or None,
        "response_format": _format(agent.output) if agent.output is not None else None,
    }
    return {name: value for name, value in arguments.items() if value is not None}


def sent_names(agent: Agent) -> dict[str, str]:
    """Return the agent's tools by the names under which they are sent."""
    return {sent_name(tool.name): tool.name for tool in agent.tools}


def sent_name(name: str) -> str:
    """Return a name that the API accepts, whose names are shorter than ours."""
    return names.sent_name(name, LONGEST_NAME)


def problems_of(agent: Agent) -> Iterator[str]:
    """Yield what the API would refuse of an agent, in words that say what to do."""
    if len(agent.stop_sequences) > MAX_STOPS:
        yield _("A request takes at most %(limit)d stop sequences.") % {"limit": MAX_STOPS}
    if agent.server_tools:
        names = ", ".join(tool.name for tool in agent.server_tools)
        words = _("Only Claude has the server tools %(tools)s. Remove them, or give the agent tools of its own.")
        yield words % {"tools": names}
    if agent.tool_choice not in {"", "auto", "any", "none"} and agent.tool(agent.tool_choice) is None:
        yield _("tool_choice names the tool %(tool)r, which the agent does not have.") % {"tool": agent.tool_choice}


def _tool(tool: Tool) -> dict[str, Any]:
    function = {"name": sent_name(tool.name), "description": tool.description, "parameters": tool.input_schema}
    strict = {"parameters": _strict_schema(tool.input_model), "strict": True} if tool.strict else {}
    return {"type": "function", "function": function | strict}


def _format(output: type[BaseModel]) -> dict[str, Any]:
    schema = {"name": sent_name(output.__name__), "schema": _strict_schema(output), "strict": True}
    return {"type": "json_schema", "json_schema": schema}


def _strict_schema(model: type[BaseModel]) -> Any:
    """Return a schema in the form that `strict` needs: every field required, no others."""
    return openai.pydantic_function_tool(model)["function"]["parameters"]


def _tool_choice(agent: Agent, messages: Sequence[dict[str, Any]]) -> Any:
    """Return which tools the model may or has to use; None leaves it to the model.

    A call is forced in the first answer to a person only, because a turn in which each answer is a call has no end.
    """
    choice = agent.tool_choice
    if choice == "none":
        return "none"
    if choice in {"", "auto"} or messages[-1]["role"] != "user":
        return None
    return "required" if choice == "any" else {"type": "function", "function": {"name": sent_name(choice)}}
