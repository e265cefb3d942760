"""What the API would refuse of an agent, found before anyone asks it (`manage.py check`). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _
from jsonschema.exceptions import SchemaError
from jsonschema.validators import Draft202012Validator

from chats.agent.agent import Agent
from chats.agent.tools import Tool
from chats.providers.anthropic.models import Takes
from chats.providers.anthropic.models import takes as takes_by_name
from chats.providers.anthropic.settings import CHOICES

#: As the API says it in its refusals.
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def problems_of(agent: Agent, model: str, takes: Takes) -> Iterator[str]:
    """Yield what `model` would refuse or ignore of an agent, in words that say what to do."""
    named = {"model": model}
    if agent.temperature is not None and not takes.temperature:
        yield _("%(model)s does not accept a temperature. Remove it, or set the agent's effort instead.") % named
    if agent.temperature is not None and agent.thinking:
        yield _("A model that thinks does not accept a temperature. Remove temperature or thinking.")
    if agent.thinking and not takes.thinks:
        yield _("%(model)s does not think. Remove thinking, or choose another model.") % named
    if agent.effort and agent.effort not in takes.efforts:
        known = ", ".join(takes.efforts) or _("none")
        message = _("%(model)s does not take the effort %(effort)r. It takes: %(known)s.")
        yield message % {"model": model, "effort": agent.effort, "known": known}
    forced = agent.tool_choice not in {"", "auto", "none"}
    if forced and (not takes.forced_tools or agent.thinking):
        yield _("%(model)s cannot be forced to use a tool, or not while it thinks. Remove tool_choice.") % named
    if agent.tool_choice not in {"", *CHOICES} and agent.tool(agent.tool_choice) is None:
        yield _("tool_choice names the tool %(tool)r, which the agent does not have.") % {"tool": agent.tool_choice}
    if agent.output is not None and not takes.structured:
        yield _("%(model)s does not take an output type. Remove output, or choose another model.") % named
    if agent.output is not None and _refers_to_itself(agent.output.model_json_schema()):
        yield _("The output type contains itself, which Claude does not take. Give it a fixed depth.")
    for server_tool in agent.server_tools:
        if server_tool.name not in takes.server_tools:
            message = _("%(model)s cannot use the server tool %(tool)s. Remove it, or choose another model.")
            yield message % {"model": model, "tool": server_tool.name}
    if not takes.typed_tools and (agent.tool_search or any(tool.kind for tool in agent.tools)):
        message = _(
            "%(model)s has no tool search, and does not know bash, the text editor and the memory. Choose another model."
        )
        yield message % named
    if model in agent.fallbacks:
        yield _("fallbacks names %(model)s, which is asked first. Remove it from fallbacks.") % named
    if agent.fallbacks != "default":
        for fallback in agent.fallbacks:
            # The API refuses a request that it would refuse for one of its fallbacks.
            yield from problems_of(
                replace(agent, model=fallback, fallbacks=(), tools=()), fallback, takes_by_name(fallback)
            )
    for tool in agent.tools:
        for problem in _problems_of_tool(tool):
            yield _("tool %(tool)s: %(problem)s") % {"tool": tool.name, "problem": problem}


def _problems_of_tool(tool: Tool) -> Iterator[str]:
    if not TOOL_NAME.fullmatch(tool.name):
        yield _("Claude takes names of 1 to 128 letters, digits, _ and - only.")
    schema = tool.input_schema
    if schema.keys() & {"oneOf", "allOf", "anyOf"}:
        yield _("Its input is one of several types. Put them into a field of one model.")
    elif schema.get("type") != "object":
        yield _("Its input has to be an object with fields.")
    for name in schema.get("properties", {}):
        if not PROPERTY.fullmatch(name):
            yield _("Claude takes field names of 1 to 64 letters, digits, _, . and - only, so not %(name)r.") % {
                "name": name
            }
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        yield _("Its input has no valid JSON Schema: %(why)s") % {"why": error.message[:200]}
    if tool.strict and _refers_to_itself(schema):
        yield _("Its input contains itself, so the tool cannot be strict.")


def _refers_to_itself(schema: Mapping[str, Any]) -> bool:
    """Return whether a definition of a schema contains itself, directly or through others."""
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    uses = {name: set(_references(definition)) for name, definition in definitions.items()}
    for name in uses:
        reached: set[str] = set()
        following = set(uses[name])
        while following - reached:
            reached |= following
            following = {used for reference in reached for used in uses.get(reference, ())}
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
