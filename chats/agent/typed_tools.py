"""Tools that are built into models and run by our own functions: a shell, a text editor and a memory.

    @typed_tool(needs_approval=lambda value: value["command"] != "view")
    def notes(call: Memory) -> str: ...

The parameter's type selects the tool. The API is told only the type, so the tool's input is specified here: each call is checked
against that before a person is asked and before anything runs. Unlike other tools they ask a person first unless configured
otherwise.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Self, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, model_validator

from approvals.json_types import JsonDict
from chats.agent.tools import DEFAULT_TIMEOUT, KNOWN_NAMES, Tool, ToolContext

#: Required and optional fields of each command.
Commands = Mapping[str, tuple[frozenset[str], frozenset[str]]]
#: A step out of a folder, also where a path is decoded once more.
_CLIMBS = re.compile(r"(^|/)\.\.(/|$)|\\|%2e|%2f|%5c", re.IGNORECASE)


def _fields(required: str, optional: str = "") -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(required.split()), frozenset(optional.split())


class Bash(BaseModel):
    """A command for a shell that keeps its state, or the request to start it anew."""

    model_config = ConfigDict(extra="forbid")
    command: str = Field("", max_length=100_000)
    restart: bool = False

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if bool(self.command.strip()) == self.restart:
            raise ValueError("give either a command, or restart: true")
        return self


class _Files(BaseModel):
    """A command for files; which fields it has depends on the command."""

    model_config = ConfigDict(extra="forbid")
    commands: ClassVar[Commands]
    command: str
    path: str
    file_text: str = ""
    old_str: str = ""
    new_str: str = ""
    insert_line: int = Field(0, ge=0)
    insert_text: str = ""
    view_range: list[int] = Field([], max_length=2)

    @model_validator(mode="after")
    def _has_the_fields_of_its_command(self) -> Self:
        required, optional = self.commands[self.command]
        # An edited form sends each field, so an empty one counts as absent.
        present = {
            name
            for name in self.model_fields_set
            if getattr(self, name) or name in required
        }
        empty = {
            name
            for name in required
            if name.endswith("path") and not getattr(self, name)
        }
        if missing := (required - present) | empty:
            raise ValueError(f"the command needs {', '.join(sorted(missing))}")
        if beyond := present - required - optional - {"command"}:
            raise ValueError(f"the command takes no {', '.join(sorted(beyond))}")
        return self


class TextEditor(_Files):
    """A command of an editor for text files."""

    commands: ClassVar[Commands] = {
        "view": _fields("path", "view_range"),
        "create": _fields("path file_text"),
        "str_replace": _fields("path old_str", "new_str"),
        "insert": _fields("path insert_line insert_text"),
    }
    command: Literal["view", "create", "str_replace", "insert"]
    path: str = Field(min_length=1)


class Memory(_Files):
    """A command for files that an agent keeps from chat to chat, below /memories."""

    commands: ClassVar[Commands] = {
        "view": _fields("path", "view_range"),
        "create": _fields("path file_text"),
        "str_replace": _fields("path old_str new_str"),
        "insert": _fields("path insert_line insert_text"),
        "delete": _fields("path"),
        "rename": _fields("old_path new_path"),
    }
    command: Literal["view", "create", "str_replace", "insert", "delete", "rename"]
    path: str = Field("", pattern=r"^(/memories(/.*)?)?$")
    old_path: str = Field("", pattern=r"^(/memories/.+)?$")
    new_path: str = Field("", pattern=r"^(/memories/.+)?$")

    @model_validator(mode="after")
    def _stays_below_memories(self) -> Self:
        for path in (self.path, self.old_path, self.new_path):
            if _CLIMBS.search(path):
                raise ValueError("a path must stay below /memories")
        return self


#: The kind of tool of each type.
TYPES: dict[type[BaseModel], Literal["bash", "text_editor", "memory"]] = {
    Bash: "bash",
    TextEditor: "text_editor",
    Memory: "memory",
}
#: Descriptions for models without the built-in tool, and for people who are asked about a call.
DOES = {
    "bash": "Run a command in a shell that keeps its state, or start the shell anew.",
    "text_editor": "View, create and edit text files.",
    "memory": "View, create, edit, rename and delete the files below /memories, which are kept from chat to chat.",
}


@overload
def typed_tool(function: Callable[..., Any]) -> Tool: ...
@overload
def typed_tool(
    function: None = None,
    *,
    needs_approval: bool | Callable[[JsonDict], bool] = ...,
    idempotent: bool = ...,
    deferred: bool = ...,
    timeout: float = ...,
    priority: str = ...,
    deadline: float | None = ...,
) -> Callable[[Callable[..., Any]], Tool]: ...
def typed_tool(
    function: Any = None,
    *,
    needs_approval: bool | Callable[[JsonDict], bool] = True,
    idempotent: bool = False,
    deferred: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
    priority: str = "normal",
    deadline: float | None = None,
) -> Any:
    """Make one of the tools in `TYPES` from a function, sync or async, whose parameter has its type."""

    def make(function: Callable[..., Any]) -> Tool:
        model, input_parameter, context_parameter = _parameters(function)
        kind = TYPES[model]
        return Tool(
            name=KNOWN_NAMES[kind],
            description=inspect.getdoc(function) or DOES[kind],
            input_model=model,
            run=function,
            kind=kind,
            input_parameter=input_parameter,
            context_parameter=context_parameter,
            needs_approval=needs_approval,
            idempotent=idempotent,
            deferred=deferred,
            timeout=timeout,
            priority=priority,
            deadline=deadline,
        )

    return make(function) if function is not None else make


def _parameters(function: Callable[..., Any]) -> tuple[type[BaseModel], str, str]:
    """Return the type of the tool, and the names of the parameters for its input and for the context."""
    hints = get_type_hints(function)
    hints.pop("return", None)
    typed = [name for name, hint in hints.items() if hint in TYPES]
    contexts = [name for name, hint in hints.items() if hint is ToolContext]
    named = set(inspect.signature(function).parameters)
    if len(typed) != 1 or len(contexts) > 1 or named != {*typed, *contexts}:
        names = ", ".join(model.__name__ for model in TYPES)
        raise TypeError(
            f"typed tool {function.__name__}: it needs one parameter of one of the types {names}, and at most a ToolContext"
        )
    return hints[typed[0]], typed[0], contexts[0] if contexts else ""
