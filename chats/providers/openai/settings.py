"""An agent's settings for both APIs: its tools, the tool choice, and the form of the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import openai
from django.utils.translation import gettext as _
from pydantic import BaseModel

from approvals.json_types import JsonDict
from chats.agent.agent import Agent
from chats.agent.tools import Tool
from chats.providers import names

LONGEST_NAME = 64


def sent_names(agent: Agent) -> dict[str, str]:
    """Return the agent's tools by the names under which they are sent."""
    return {sent_name(tool.name): tool.name for tool in agent.tools}


def sent_name(name: str) -> str:
    """Return a name that the API accepts; its names are shorter than ours."""
    return names.sent_name(name, LONGEST_NAME)


def problems_of(agent: Agent) -> Iterator[str]:
    """Yield settings of an agent that either API would refuse, with instructions."""
    if agent.server_tools:
        names = ", ".join(tool.name for tool in agent.server_tools)
        message = _(
            "Only Claude has the server tools %(tools)s. Remove them, or give the agent its own tools."
        )
        yield message % {"tools": names}
    if ignored := [
        name
        for name in ("mcp_servers", "fallbacks", "files", "extra")
        if getattr(agent, name)
    ]:
        yield _("Only Claude supports %(fields)s. Remove them from the agent.") % {
            "fields": ", ".join(ignored)
        }
    if (
        agent.tool_choice not in {"", "auto", "any", "none"}
        and agent.tool(agent.tool_choice) is None
    ):
        yield _(
            "tool_choice names the tool %(tool)r, which the agent does not have."
        ) % {"tool": agent.tool_choice}


def function_of(tool: Tool) -> JsonDict:
    """Return a tool as a function."""
    function = {
        "name": sent_name(tool.name),
        "description": tool.description,
        "parameters": tool.input_schema,
    }
    return function | (
        {"parameters": _strict_schema(tool.input_model), "strict": True}
        if tool.strict
        else {}
    )


def format_of(output: type[BaseModel]) -> JsonDict:
    """Return the form of an answer that is JSON."""
    return {
        "name": sent_name(output.__name__),
        "schema": _strict_schema(output),
        "strict": True,
    }


def _strict_schema(model: type[BaseModel]) -> Any:
    """Return a schema in the form that `strict` needs: every field required, no others."""
    return openai.pydantic_function_tool(model)["function"]["parameters"]


def tool_choice(
    agent: Agent, last: str, named: Callable[[str], JsonDict]
) -> str | JsonDict | None:
    """Return which tools the model may or has to use; None leaves it to the model. `named` builds the choice of one tool.

    A call is forced only in the first answer to a person, because a turn in which each answer is a call has no end. `last` is
    the role of the last message.
    """
    choice = agent.tool_choice
    if not agent.tools:
        return None
    if choice == "none":
        return "none"
    if choice in {"", "auto"} or last != "user":
        return None
    return "required" if choice == "any" else named(sent_name(choice))
