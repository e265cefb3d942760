"""Tools whose input models know by heart: the arguments of their functions, and refusals before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from chats.agent.tools import InvalidInput, Tool, ToolContext, tool
from chats.agent.typed_tools import Bash, Memory, TextEditor, typed_tool


def made(model: Any, **given: Any) -> Tool:
    """Return a typed tool that returns its input."""

    def run(call: Any) -> str:
        """Do it."""
        return str(call)

    run.__annotations__["call"] = model
    return typed_tool(**given)(run)


def test_a_typed_tool_has_the_name_that_models_know_and_asks_first_unless_it_is_told_not_to():
    tools = [made(Bash), made(TextEditor, needs_approval=False), made(Memory)]
    assert [(each.kind, each.name, each.asks_first({"command": "view"})) for each in tools] == [
        ("bash", "bash", True),
        ("text_editor", "str_replace_based_edit_tool", False),
        ("memory", "memory", True),
    ]


def test_its_function_gets_the_whole_input_and_the_context():
    @typed_tool
    def shell(call: Bash, context: ToolContext) -> str:
        """Run it."""
        return call.command

    parsed = shell.validate({"command": "ls"})
    assert (shell.arguments(parsed), shell.context_parameter) == ({"call": parsed}, "context")


TAKEN: list[tuple[Any, dict[str, Any]]] = [
    (Bash, {"command": "ls"}),
    (Bash, {"restart": True}),
    (TextEditor, {"command": "view", "path": "a.py"}),
    (TextEditor, {"command": "view", "path": "a.py", "view_range": [1, -1]}),
    (TextEditor, {"command": "create", "path": "a.py", "file_text": ""}),
    (TextEditor, {"command": "str_replace", "path": "a.py", "old_str": "a"}),
    (TextEditor, {"command": "insert", "path": "a.py", "insert_line": 0, "insert_text": "a"}),
    (Memory, {"command": "view", "path": "/memories"}),
    (Memory, {"command": "view", "path": "/memories/50%.md", "file_text": "", "view_range": []}),
    (Memory, {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"}),
    (Memory, {"command": "delete", "path": "/memories/a..b"}),
]


@pytest.mark.parametrize(("model", "value"), TAKEN)
def test_the_commands_of_each_type_are_taken(model, value):
    assert made(model).validate(value).model_dump(include=set(value)) == value


REFUSED: list[tuple[Any, Any, str]] = [
    (Bash, {}, "give either a command, or restart: true"),
    (Bash, {"command": " "}, "give either a command, or restart: true"),
    (Bash, {"command": "ls", "restart": True}, "give either a command, or restart: true"),
    (Bash, {"command": ["ls"]}, "command: Input should be a valid string"),
    (Bash, {"command": "ls", "cwd": "/"}, "cwd: Extra inputs are not permitted"),
    (Bash, "ls", "input: Input should be an object"),
    (TextEditor, {"command": "undo_edit", "path": "a.py"}, "command: Input should be 'view', 'create', 'str_replace'"),
    (TextEditor, {"command": "create", "path": "a.py"}, "the command needs file_text"),
    (TextEditor, {"command": "view", "path": "a.py", "file_text": "x"}, "the command takes no file_text"),
    (Memory, {"command": "view", "path": ""}, "the command needs path"),
    (Memory, {"command": "view", "path": "/etc/passwd"}, "path: String should match pattern"),
    (Memory, {"command": "view", "path": "/memories/../etc"}, "a path must stay below /memories"),
    (Memory, {"command": "view", "path": "/memories/%2e%2e/etc"}, "a path must stay below /memories"),
    (
        Memory,
        {"command": "rename", "old_path": "/memories/a", "new_path": "/b"},
        "new_path: String should match pattern",
    ),
]


@pytest.mark.parametrize(("model", "value", "words"), REFUSED)
def test_an_input_of_another_shape_is_refused_in_words(model, value, words):
    with pytest.raises(InvalidInput) as refused:
        made(model).validate(value)
    assert words in str(refused.value)


def test_a_function_without_the_right_parameters_is_no_typed_tool():
    def none(command: str) -> str: ...
    def two(one: Bash, other: Memory) -> str: ...
    def more(call: Bash, folder: str) -> str: ...

    for function in (none, two, more):
        with pytest.raises(TypeError, match="it needs one parameter of one of the types Bash, TextEditor, Memory"):
            typed_tool(function)


def test_a_typed_tool_can_be_neither_strict_nor_eager():
    for option in ({"strict": True}, {"eager": True}):
        with pytest.raises(ValueError, match="tool bash: models already know its input"):
            Tool(name="bash", description="", input_model=Bash, kind="bash", **option)


def test_a_kind_belongs_to_the_name_that_models_know():
    for kind, name in (("bash", "shell"), ("computer", "computer")):
        with pytest.raises(ValueError, match=f"create tools of the kind {kind} with typed_tool"):
            Tool(name=name, description="", input_model=Bash, kind=kind)


def test_a_tool_without_a_type_is_as_before():
    @tool(deferred=True, eager=True)
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert (add.kind, add.deferred, add.eager) == ("", True, True)
    assert add.arguments(add.validate({"a": 1, "b": 2})) == {"a": 1, "b": 2}
