"""Tools: a typed function becomes a tool that the model can call; a schema without one becomes a question to a person."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeVar, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import CoreSchema, core_schema

from approvals.json_types import JsonDict, JsonMapping
from approvals.text.names import tool_name_problem

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_TIMEOUT = 60.0
#: The names of the tools that are built into models.
KNOWN_NAMES = {
    "bash": "bash",
    "text_editor": "str_replace_based_edit_tool",
    "memory": "memory",
}


class ToolError(Exception):
    """Raise this in a tool to report a problem to the model. The model gets the message without a traceback."""


class InvalidInput(ValueError):
    """The model's input does not fit the tool. The model gets the message."""


class File:
    """A picture or a PDF that a tool returns: alone, in a list, or as a value in JSON, a dataclass or a pydantic model.

    It is not a dataclass, because the result's conversion to JSON would look into one and find bytes.
    """

    __slots__ = ("content", "name")

    def __init__(self, content: bytes, name: str = "") -> None:
        if not isinstance(content, (bytes, bytearray, memoryview)):
            raise TypeError(
                f"a file's content must be bytes, not {type(content).__name__}"
            )
        self.content = bytes(content)
        self.name = name

    def __repr__(self) -> str:
        return f"File({len(self.content)} bytes, name={self.name!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        """Let pydantic models have fields of this type."""
        return core_schema.is_instance_schema(cls)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context of a tool's call. Declare a parameter of this type to get it.

    `executions` is how often this tool was started in this chat, including this run. `tool_call_id` stays the same when an
    idempotent tool runs again after a crash: use it as an idempotency key for external services.
    """

    tool_call_id: str
    chat_id: str
    user: str
    attempt: int
    executions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An interactive tool's question to a person, made from the model's input."""

    title: str
    message: str = ""
    options: Sequence[JsonMapping] = ()
    multiple: bool = False
    allow_text: bool = True
    field_name: str = ""
    suggestions: Sequence[str] = ()
    context: JsonMapping | None = None
    priority: str = "normal"
    timeout_ms: float = 0
    has_default: bool = False
    default: Any = None
    response_schema: JsonMapping | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswer:
    """A person's answer to a Question, or its default if `timed_out`. Times are in epoch milliseconds."""

    value: Any
    request_id: str
    requested_at: int
    responded_at: int
    timed_out: bool
    priority: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of an agent.

    Instead of `run`, an interactive tool has `ask`, and an agent as a tool has `agent`. `timeout` limits a run, in seconds.
    `deadline` limits the time for approval, in seconds; None waits for ever. An `idempotent` tool can run again with the same
    toolCallId without harm, so it does after a crash; for any other tool a person is asked first. A `strict` one is only called
    with inputs that match its schema, if the model's API can ensure that. A `deferred` one is found by the agent's
    `tool_search`, and the input of an `eager` one is streamed while it is generated, before it is known to be JSON. `kind` is
    that of a tool built into models (`chats.agent.typed_tools`); its `input_parameter` takes the whole input.
    """

    name: str
    description: str
    input_model: type[BaseModel]
    run: Callable[..., Any] | None = None
    context_parameter: str = ""
    needs_approval: bool | Callable[[JsonDict], bool] = False
    idempotent: bool = False
    strict: bool = False
    deferred: bool = False
    eager: bool = False
    kind: Literal["", "bash", "text_editor", "memory"] = ""
    input_parameter: str = ""
    timeout: float = DEFAULT_TIMEOUT
    priority: str = "normal"
    deadline: float | None = None
    ask: Callable[[Any], Question] | None = None
    answer: Callable[[QuestionAnswer], Any] = field(default=lambda answer: answer.value)
    #: An `Agent`; typed as Any because chats.agent.agent imports this module.
    agent: Any = None

    def __post_init__(self) -> None:
        if problem := tool_name_problem(self.name):
            raise ValueError(f"tool {self.name!r}: its name {problem}")
        if self.kind and KNOWN_NAMES.get(self.kind) != self.name:
            raise ValueError(
                f"tool {self.name}: create tools of the kind {self.kind} with typed_tool"
            )
        if self.kind and (self.strict or self.eager):
            raise ValueError(
                f"tool {self.name}: models already know its input, so it cannot be strict or eager"
            )

    @property
    def interactive(self) -> bool:
        return self.ask is not None

    @property
    def input_schema(self) -> JsonDict:
        """The JSON Schema (2020-12) of the input, for the model."""
        return _schema_of(self.input_model)

    def validate(self, value: Any) -> BaseModel:
        """Return the parsed input. Raise InvalidInput, with a text for the model, if it does not match."""
        try:
            # Strict, so that an approved "100" does not run as 100; from JSON, so that dates and enums may be text.
            return self.input_model.model_validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, e['loc'])) or 'input'}: {e['msg']}"
                for e in error.errors()[:10]
            )
            raise InvalidInput(f"Invalid input for {self.name}: {problems}") from error

    def arguments(self, parsed: BaseModel) -> JsonDict:
        """Return the arguments for `run` from the parsed input."""
        if self.input_parameter:
            return {self.input_parameter: parsed}
        return {name: getattr(parsed, name) for name in type(parsed).model_fields}

    def asks_first(self, value: JsonDict) -> bool:
        """Return whether this input needs approval; it does if the predicate raises."""
        if not callable(self.needs_approval):
            return self.needs_approval
        try:
            return bool(self.needs_approval(value))
        except Exception:
            return True


@cache
def _schema_of(model: type[BaseModel]) -> JsonDict:
    """Return the schema of an input. Cached, because it is needed for every request and takes milliseconds to build."""
    schema = model.model_json_schema()
    # A model that contains itself is a reference to its own definition, but APIs want the object itself at the top.
    if isinstance(reference := schema.get("$ref"), str):
        whole: JsonDict = schema["$defs"][reference.rpartition("/")[2]]
        schema = whole | {
            name: value for name, value in schema.items() if name != "$ref"
        }
    return schema


@overload
def tool(function: F) -> Tool: ...
@overload
def tool(
    function: None = None,
    *,
    name: str = ...,
    needs_approval: bool | Callable[[JsonDict], bool] = ...,
    idempotent: bool = ...,
    strict: bool = ...,
    deferred: bool = ...,
    eager: bool = ...,
    timeout: float = ...,
    priority: str = ...,
    deadline: float | None = ...,
) -> Callable[[F], Tool]: ...
def tool(
    function: Any = None,
    *,
    name: str = "",
    needs_approval: bool | Callable[[JsonDict], bool] = False,
    idempotent: bool = False,
    strict: bool = False,
    deferred: bool = False,
    eager: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
    priority: str = "normal",
    deadline: float | None = None,
) -> Any:
    """Make a tool from a typed function, sync or async. Its docstring is the description for the model."""

    def make(function: Callable[..., Any]) -> Tool:
        model, context_parameter = _input_model(function)
        return Tool(
            name=name or function.__name__,
            description=inspect.getdoc(function) or "",
            input_model=model,
            run=function,
            context_parameter=context_parameter,
            needs_approval=needs_approval,
            idempotent=idempotent,
            strict=strict,
            deferred=deferred,
            eager=eager,
            timeout=timeout,
            priority=priority,
            deadline=deadline,
        )

    return make(function) if function is not None else make


def _input_model(function: Callable[..., Any]) -> tuple[type[BaseModel], str]:
    hints = get_type_hints(function, include_extras=True)
    context_parameter = ""
    fields = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            raise TypeError(
                f"tool {function.__name__}: *{parameter.name} has no schema; name its parameters"
            )
        hint = hints.get(parameter.name)
        if hint is None:
            raise TypeError(
                f"tool {function.__name__}: parameter {parameter.name} needs a type"
            )
        if hint is ToolContext:
            context_parameter = parameter.name
        else:
            fields[parameter.name] = (
                hint,
                ... if parameter.default is parameter.empty else parameter.default,
            )
    model: Any = create_model(
        function.__name__, __config__=ConfigDict(extra="forbid"), **fields
    )  # type: ignore[call-overload]
    return model, context_parameter
