"""Read the calls of an OpenAI Agents run from each kind of item that the SDK can pause for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.items import ToolApprovalItem

from pausepoint import calls
from pausepoint.calls import ToolCall
from pausepoint.gate import NotGated

#: Kinds of calls that the SDK runs here without reporting them individually to the hooks of a run.
SILENT = frozenset({"shell_call", "apply_patch_call"})
#: The kind of call that the provider of the model runs after the approval.
HOSTED = "mcp_approval_request"


def call_of(item: ToolApprovalItem, thread_id: str) -> ToolCall:
    """Return a call for display to people: its input contains everything that determines what runs.

    Raise Unreadable if the model's call cannot be read, and NotGated if its kind is unknown: approving something that people
    cannot see would approve anything.
    """
    raw = raw_item(item)
    kind = raw.get("type")
    if kind == "function_call":
        name, wanted = item.qualified_name or "", _arguments(item.name or "", raw)
    elif kind == HOSTED:
        # Servers may have tools of the same name.
        name, wanted = (
            f"{raw.get('server_label')}.{raw.get('name')}",
            _arguments(str(raw.get("name")), raw),
        )
    elif kind == "custom_tool_call":
        name, wanted = item.name or "", {"input": _text(item, raw.get("input"))}
    elif kind == "shell_call":
        name, wanted = item.name or "shell", _fields(item, raw.get("action"))
    elif kind == "apply_patch_call":
        operations = raw.get("operations")
        name = item.name or "apply_patch"
        wanted = (
            {"operations": operations}
            if operations
            else _fields(item, raw.get("operation"))
        )
    else:
        raise NotGated(
            f"The call of {item.name!r} is of the kind {kind!r}, which Pausepoint cannot show to people, so no one was asked and "
            "the run ends. Take the tool from the agent, or let it run without an approval."
        )
    if not name:
        raise calls.unreadable("", "it does not name a tool")
    return ToolCall(name, item.call_id or "", wanted, thread_id, item.agent.name)


def raw_item(item: Any) -> Mapping[str, Any]:
    """Return the fields of an item as sent by the model's provider; it may be a pydantic model."""
    raw = item.raw_item
    return (
        raw
        if isinstance(raw, Mapping)
        else raw.model_dump(mode="json", exclude_none=True)
    )


def _arguments(name: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a function; some models send none in place of an empty object."""
    arguments = raw.get("arguments")
    return calls.readable_input(name, {} if arguments == "" else arguments)


def _fields(item: ToolApprovalItem, value: Any) -> dict[str, Any]:
    if not value:
        raise calls.unreadable(item.name or "tool", "it does not say what it would do")
    return calls.readable_input(item.name or "tool", value)


def _text(item: ToolApprovalItem, value: Any) -> str:
    if not isinstance(value, str):
        raise calls.unreadable(item.name or "tool", "its input is no text")
    return value
