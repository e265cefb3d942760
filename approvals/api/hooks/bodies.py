"""Read the bodies of hooks. Members that are not used are ignored, because agents add new ones all the time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from approvals.api.hooks.agents import Agent, Event
from approvals.asking.asks import MAX_LENGTHS, MAX_MESSAGE
from approvals.db.canonical_json import NotCanonical, canonical, clean_text, digest
from approvals.exceptions import Invalid
from approvals.text.confusables import tool_name_problem
from approvals.text.translation import translated

MAX_ID, MAX_DIRECTORY, MAX_ADDRESS = 200, 4_096, 2_000
#: Longer outputs are cut: the agent has them, and the record only needs to tell what happened.
MAX_OUTPUT = 20_000
#: The tool with which Claude Code asks its user questions.
QUESTIONS = "AskUserQuestion"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """What a hook reports. Of a tool call `tool` and `input` are given, of an elicitation `server` and what it asks."""

    agent: Agent
    event: Event
    session: str
    prompt: str = ""
    directory: str = ""
    tool: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)
    tool_use: str = ""
    server: str = ""
    message: str = ""
    address: str = ""
    schema: Mapping[str, Any] | None = None
    #: What a call that has run returned, or its error.
    output: Any = None
    error: str = ""
    #: Whether the agent ends, and asks about the same call again when it is resumed, in another prompt.
    deferred: bool = False

    @property
    def asks_questions(self) -> bool:
        return self.tool == QUESTIONS

    @property
    def named(self) -> bool:
        """Whether the call has an id of its own."""
        return bool(self.tool_use)

    @property
    def key(self) -> str:
        """What a repeat of the call is recognized by: its own id, or else what it is about; and the prompt that led to it.

        Some models number their calls anew in each turn. Only a deferred call is asked about in several prompts.
        """
        if self.tool_use:
            turn = "" if self.deferred or not self.prompt else f"{self.prompt}:"
            key = f"{self.session}:{turn}{self.tool_use}"
            return key if len(key) <= MAX_ID else "call:" + _hash(key)
        return f"{self.event.lower()}:" + _hash(f"{self.session} {self.prompt} {self.digest}")

    @property
    def problem(self) -> str:
        """What keeps the call from being stored; empty if nothing does."""
        try:
            _digest = self.digest
            # Not part of what is decided, but stored and hashed all the same.
            canonical([self.session, self.prompt, self.tool_use])
        except NotCanonical as error:
            return translated(error)
        return ""

    @property
    def digest(self) -> str:
        """The digest of everything that a person decides about."""
        about = {
            "event": self.event,
            "directory": self.directory,
            "tool": self.tool,
            "input": dict(self.input),
            "elicitation": [self.server, self.message, self.address, self.schema],
        }
        return digest(about)


def parse(body: Mapping[str, Any], agent: Agent) -> HookCall:
    """Return what a hook reports. Raises Invalid with an error per member."""
    name = body.get("hook_event_name")
    if not isinstance(name, str) or name not in agent.events:
        words = _("must be one of %(names)s, the events that Pausepoint answers for %(agent)s")
        errors = {"hook_event_name": words % {"names": ", ".join(sorted(agent.events)), "agent": agent.name}}
        raise Invalid(_("Pausepoint does not answer this event. Remove its hook from the agent's settings."), errors)
    event = Event(name)
    reading = _Reading(body)
    call = HookCall(
        agent=agent,
        event=event,
        session=reading.text("session_id", MAX_ID, required=True),
        # Claude Code names the prompt, Codex the turn; a resumed session may name neither.
        prompt=reading.text("prompt_id", MAX_ID) or reading.text("turn_id", MAX_ID),
        directory=reading.text("cwd", MAX_DIRECTORY),
        **(_elicitation(reading) if event == Event.ELICITATION else _tool_call(reading, event)),
    )
    reading.check(call)
    return call


class _Reading:
    """Reads members of a body and collects what is wrong with them."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = body
        self.errors: dict[str, str] = {}

    def text(self, name: str, limit: int, *, required: bool = False) -> str:
        value = self.body.get(name)
        if value is None and not required:
            return ""
        if not isinstance(value, str) or (required and not value):
            self.errors[name] = _("is missing") if value is None else _("must be text that is not empty")
            return ""
        if len(value) > limit:
            self.errors[name] = _("is longer than %(limit)s characters") % {"limit": f"{limit:,}"}
        return value

    def members(self, name: str) -> dict[str, Any]:
        value = self.body.get(name)
        if not isinstance(value, dict):
            self.errors[name] = _("is missing") if value is None else _("is not a JSON object")
            return {}
        return value

    def check(self, call: HookCall) -> None:
        """Raise Invalid if something was wrong."""
        if not self.errors and (problem := call.problem):
            self.errors["body"] = problem
        if self.errors:
            raise _invalid(self.errors)


def _invalid(errors: Mapping[str, str]) -> Invalid:
    return Invalid(_("The body of the hook is invalid."), errors)


def _tool_call(reading: _Reading, event: Event) -> dict[str, Any]:
    tool = reading.text("tool_name", MAX_LENGTHS["tool_name"], required=True)
    if problem := tool_name_problem(tool):
        reading.errors["tool_name"] = problem
    found = {"tool": tool, "input": reading.members("tool_input")}
    if event != Event.PERMISSION_REQUEST:
        found["tool_use"] = reading.text("tool_use_id", MAX_ID, required=True)
    if event == Event.POST_TOOL_USE:
        found["output"] = _bounded(reading.body.get("tool_response"))
    elif event == Event.POST_TOOL_USE_FAILURE:
        error = reading.body.get("error")
        text = clean_text(error if isinstance(error, str) else json.dumps(error))
        found["error"] = text[:MAX_OUTPUT] or _("It failed.")
    return found


def _bounded(output: Any) -> Any:
    """Return an output as it may be recorded; one that is too large is cut, as text."""
    try:
        if len(canonical(output)) <= MAX_OUTPUT:
            return output
    except NotCanonical:
        pass
    text = clean_text(output if isinstance(output, str) else json.dumps(output, ensure_ascii=False))
    return text if len(text) <= MAX_OUTPUT else text[:MAX_OUTPUT] + "…"


def _elicitation(reading: _Reading) -> dict[str, Any]:
    mode = reading.body.get("mode", "form")
    if mode not in ("form", "url"):
        reading.errors["mode"] = _("must be form or url")
    found = {
        "server": reading.text("mcp_server_name", MAX_ID, required=True),
        "message": reading.text("message", MAX_MESSAGE, required=True),
    }
    if mode == "url":
        return found | {"address": reading.text("url", MAX_ADDRESS, required=True)}
    schema = reading.body.get("requested_schema")
    return found | {"schema": {"type": "object"} if schema is None else reading.members("requested_schema")}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
