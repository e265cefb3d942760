"""Find settings of an agent that the API would refuse, before anyone uses it (`manage.py check`). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _
from jsonschema.exceptions import SchemaError
from jsonschema.validators import Draft202012Validator

from approvals.json_types import JsonMapping
from chats.agent.agent import Agent
from chats.agent.tools import Tool
from chats.providers.anthropic.models import Takes
from chats.providers.anthropic.models import takes as takes_by_name
from chats.providers.anthropic.settings import CHOICES

#: As the API says it in its refusals.
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def problems_of(agent: Agent, model: str, takes: Takes) -> Iterator[str]:
    """Yield settings of an agent that `model` would refuse or ignore, with instructions."""
    yield from _problems_of_thinking(agent, model, takes)
    yield from _problems_of_choice(agent, model, takes)
    yield from _problems_of_output(agent, model, takes)
    yield from _problems_of_server_tools(agent, model, takes)
    yield from _problems_of_fallbacks(agent, model)
    for tool in agent.tools:
        for problem in _problems_of_tool(tool):
            message = _("tool %(tool)s: %(problem)s")
            yield message % {"tool": tool.name, "problem": problem}


def _problems_of_thinking(agent: Agent, model: str, takes: Takes) -> Iterator[str]:
    if agent.temperature is not None and not takes.temperature:
        message = _(
            "%(model)s does not accept a temperature. Remove it, or set the agent's effort instead."
        )
        yield message % {"model": model}
    if agent.temperature is not None and agent.thinking:
        yield _(
            "A model does not accept a temperature while thinking is on. Remove temperature or thinking."
        )
    if agent.thinking and not takes.thinks:
        message = _(
            "%(model)s does not support thinking. Remove thinking, or choose another model."
        )
        yield message % {"model": model}
    if agent.effort and agent.effort not in takes.efforts:
        known = ", ".join(takes.efforts) or _("none")
        message = _(
            "%(model)s does not support the effort %(effort)r. It supports: %(known)s."
        )
        yield message % {"model": model, "effort": agent.effort, "known": known}


def _problems_of_choice(agent: Agent, model: str, takes: Takes) -> Iterator[str]:
    choice = agent.tool_choice
    forced = choice not in {"", "auto", "none"}
    if forced and (not takes.forced_tools or agent.thinking):
        message = _(
            "%(model)s cannot be forced to use a tool, or not while it thinks. Remove tool_choice."
        )
        yield message % {"model": model}
    if choice not in {"", *CHOICES} and agent.tool(choice) is None:
        message = _(
            "tool_choice names the tool %(tool)r, which the agent does not have."
        )
        yield message % {"tool": choice}


def _problems_of_output(agent: Agent, model: str, takes: Takes) -> Iterator[str]:
    if agent.output is None:
        return
    if not takes.structured:
        message = _(
            "%(model)s does not support an output type. Remove output, or choose another model."
        )
        yield message % {"model": model}
    if _refers_to_itself(agent.output.model_json_schema()):
        yield _(
            "The output type contains itself, which Claude does not support. Give it a fixed depth."
        )


def _problems_of_server_tools(agent: Agent, model: str, takes: Takes) -> Iterator[str]:
    for tool in agent.server_tools:
        if tool.name not in takes.server_tools:
            message = _(
                "%(model)s cannot use the server tool %(tool)s. Remove it, or choose another model."
            )
            yield message % {"model": model, "tool": tool.name}
    typed = agent.tool_search or any(tool.kind for tool in agent.tools)
    if typed and not takes.typed_tools:
        message = _(
            "%(model)s does not support tool search, bash, the text editor and the memory. Choose another model."
        )
        yield message % {"model": model}


def _problems_of_fallbacks(agent: Agent, model: str) -> Iterator[str]:
    if model in agent.fallbacks:
        message = _(
            "fallbacks names %(model)s, which is the agent's main model. Remove it from fallbacks."
        )
        yield message % {"model": model}
    if agent.fallbacks == "default":
        return
    for fallback in agent.fallbacks:
        # The API refuses a request that it would refuse for one of its fallbacks.
        alone = replace(agent, model=fallback, fallbacks=(), tools=())
        yield from problems_of(alone, fallback, takes_by_name(fallback))


def _problems_of_tool(tool: Tool) -> Iterator[str]:
    if not TOOL_NAME.fullmatch(tool.name):
        yield _("Claude accepts only names of 1 to 128 letters, digits, _ and -.")
    schema = tool.input_schema
    if schema.keys() & {"oneOf", "allOf", "anyOf"}:
        yield _(
            "Its input is one of several types. Put them into a field of one model."
        )
    elif schema.get("type") != "object":
        yield _("Its input has to be an object with fields.")
    for name in schema.get("properties", {}):
        if not PROPERTY.fullmatch(name):
            yield _(
                "Claude accepts only field names of 1 to 64 letters, digits, _, . and -, so not %(name)r."
            ) % {"name": name}
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        yield _("Its input has no valid JSON Schema: %(why)s") % {
            "why": error.message[:200]
        }
    if tool.strict and _refers_to_itself(schema):
        yield _("Its input contains itself, so the tool cannot be strict.")


def _refers_to_itself(schema: JsonMapping) -> bool:
    """Return whether a definition of a schema contains itself, directly or through others."""
    definitions: JsonMapping = schema.get("$defs", {})
    uses = {
        name: set(_references(definition)) for name, definition in definitions.items()
    }
    for name in uses:
        reached: set[str] = set()
        following = set(uses[name])
        while following - reached:
            reached |= following
            following = {
                used for reference in reached for used in uses.get(reference, ())
            }
        if name in reached:
            return True
    return False


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].rpartition("/")[2]
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)
