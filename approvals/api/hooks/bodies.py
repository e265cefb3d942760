"""Read hook bodies. Unknown members are ignored, because agents keep adding new ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import AfterValidator, AliasChoices, ConfigDict, Field

from approvals.api.bodies import Body, Text
from approvals.api.hooks.agents import CodingAgent, HookEvent
from approvals.asking.asks import MAX_LENGTHS, MAX_MESSAGE
from approvals.asking.origins import key_of_calls
from approvals.db.canonical_json import (
    NotCanonical,
    canonical,
    clean_text,
    digest,
    storable,
)
from approvals.exceptions import Invalid
from approvals.json_types import JsonMapping
from approvals.text.names import tool_name_problem
from approvals.text.translation import translated

MAX_ID = 200
MAX_DIRECTORY = 4_096
MAX_ADDRESS = 2_000
#: Longer outputs are cut: the agent has them, and the record only needs the gist.
MAX_OUTPUT = 20_000
#: Claude Code's tool for asking its user questions.
QUESTIONS = "AskUserQuestion"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """The contents of a hook call. Tool calls have `tool` and `input`, elicitations `server` and its question.

    Of a prompt only the session and id are read, not the text.
    """

    agent: CodingAgent
    event: HookEvent
    session: str
    prompt: str = ""
    directory: str = ""
    tool: str = ""
    input: JsonMapping = field(default_factory=dict)
    tool_use: str = ""
    server: str = ""
    message: str = ""
    address: str = ""
    requested_schema: JsonMapping | None = None
    #: The output or error of a completed call.
    output: Any = None
    error: str = ""
    #: Whether the agent exits and, when resumed, asks about the same call again in another prompt.
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
        """The identity of a repeated call: its own id, or else its content; and the prompt that led to it.

        Some models restart their call numbers in each turn. Only a deferred call is asked about in several prompts.
        """
        if self.tool_use:
            turn = "" if self.deferred or not self.prompt else f"{self.prompt}:"
            key = f"{self.session}:{turn}{self.tool_use}"
            return (
                key
                if len(key) <= MAX_ID
                else key_of_calls("call:", self.session, turn, self.tool_use)
            )
        # It is shown to people: without a server key, hidden input values could be found by brute force.
        return key_of_calls(
            f"{self.event.lower()}:", self.session, self.prompt, self.digest
        )

    def require_storable(self) -> None:
        """Raise Invalid if the call's content cannot be stored. Only calls that people are asked about need this."""
        try:
            _digest = self.digest
        except NotCanonical as error:
            raise _invalid(error) from error

    def as_stored(self) -> HookCall:
        """Return the call for the record of a refused one, with values that cannot be stored replaced."""
        return replace(
            self, directory=clean_text(self.directory), input=storable(dict(self.input))
        )

    def require_storable_ids(self) -> None:
        """Raise Invalid if the call's ids cannot be stored."""
        try:
            # Not part of the decision, but stored and hashed all the same.
            canonical([self.session, self.prompt, self.tool_use])
        except NotCanonical as error:
            raise _invalid(error) from error

    @property
    def digest(self) -> str:
        """The digest of everything that a person decides about."""
        about = {
            "event": self.event,
            "directory": self.directory,
            "tool": self.tool,
            "input": dict(self.input),
            "elicitation": [
                self.server,
                self.message,
                self.address,
                self.requested_schema,
            ],
        }
        return digest(about)


def _invalid(error: NotCanonical) -> Invalid:
    return Invalid(str(_Hook.refusal), {"body": translated(error)})


def _tool_name(value: str) -> str:
    if problem := tool_name_problem(value):
        raise ValueError(problem)
    return value


def _output(value: Any) -> Any:
    """Return an output for the record; one that is too large is cut, as text."""
    try:
        if len(canonical(value)) <= MAX_OUTPUT:
            return value
    except NotCanonical:
        pass
    text = clean_text(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )
    return text if len(text) <= MAX_OUTPUT else text[:MAX_OUTPUT] + "…"


def _error(value: Any) -> str:
    text = clean_text(value if isinstance(value, str) else json.dumps(value))
    return text[:MAX_OUTPUT] or _("It failed.")


Id = Annotated[Text, Field(min_length=1, max_length=MAX_ID)]


class _Hook(Body):
    """The members of all events, named as in `HookCall`. A null member counts as absent."""

    model_config = ConfigDict(alias_generator=None)
    refusal = gettext_lazy("The body of the hook is invalid.")
    member_errors: ClassVar = {
        "is_instance_of": gettext_lazy("must be text that is not empty"),
        "too_short": gettext_lazy("must be text that is not empty"),
        "mode": gettext_lazy("must be form or url"),
    }

    session: Id = Field(alias="session_id")
    # Claude Code names the prompt, Codex the turn; a resumed session may name neither.
    prompt: Annotated[Text, Field(max_length=MAX_ID)] = Field(
        "", validation_alias=AliasChoices("prompt_id", "turn_id")
    )
    directory: Annotated[Text, Field(max_length=MAX_DIRECTORY)] = Field("", alias="cwd")


class _Permission(_Hook):
    tool: Annotated[
        Text,
        Field(min_length=1, max_length=MAX_LENGTHS["tool_name"]),
        AfterValidator(_tool_name),
    ] = Field(alias="tool_name")
    input: dict[Any, Any] = Field(alias="tool_input")


class _ToolUse(_Permission):
    tool_use: Id = Field(alias="tool_use_id")


class _UnnamedSuccess(_Permission):
    output: Annotated[Any, AfterValidator(_output)] = Field(None, alias="tool_response")


class _Success(_UnnamedSuccess, _ToolUse):
    pass


class _Failure(_ToolUse):
    error: Annotated[Any, AfterValidator(_error)] = Field(None, validate_default=True)


class _Elicitation(_Hook):
    server: Id = Field(alias="mcp_server_name")
    message: Annotated[Text, Field(min_length=1, max_length=MAX_MESSAGE)]


class _Form(_Elicitation):
    mode: Literal["form"] = "form"
    requested_schema: dict[Any, Any] = Field(default_factory=lambda: {"type": "object"})


class _Link(_Elicitation):
    address: Annotated[Text, Field(min_length=1, max_length=MAX_ADDRESS)] = Field(
        alias="url"
    )


_EVENTS: Mapping[HookEvent, type[_Hook]] = {
    HookEvent.PRE_TOOL_USE: _ToolUse,
    HookEvent.PERMISSION_REQUEST: _Permission,
    HookEvent.POST_TOOL_USE: _Success,
    HookEvent.POST_TOOL_USE_FAILURE: _Failure,
    HookEvent.USER_PROMPT_SUBMIT: _Hook,
}
#: The same of agents whose calls have no ids.
_UNNAMED: Mapping[HookEvent, type[_Hook]] = {
    **_EVENTS,
    HookEvent.PRE_TOOL_USE: _Permission,
    HookEvent.POST_TOOL_USE: _UnnamedSuccess,
}


def parse(body: JsonMapping, agent: CodingAgent) -> HookCall:
    """Return the hook call in a body. Raise Invalid with an error per member."""
    name = body.get("hook_event_name")
    if not isinstance(name, str) or name not in agent.events:
        message = _(
            "must be one of %(names)s, the events that Pausepoint answers for %(agent)s"
        )
        errors = {
            "hook_event_name": message
            % {"names": ", ".join(sorted(agent.events)), "agent": agent.name}
        }
        raise Invalid(
            _(
                "Pausepoint does not answer this event. Remove its hook from the agent's settings."
            ),
            errors,
        )
    event = HookEvent(name)
    members = {
        name: value
        for name, value in body.items()
        if value is not None or name == "mode"
    }
    if members.get("prompt_id") == "":
        del members["prompt_id"]
    documents = _EVENTS if agent.names_calls else _UNNAMED
    document = documents.get(event) or (_Link if body.get("mode") == "url" else _Form)
    about = {name: value for name, value in document.read(members) if name != "mode"}
    if "tool" in about:
        about["tool"] = agent.shared_name(about["tool"])
    return HookCall(agent=agent, event=event, **about)
