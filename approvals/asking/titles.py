"""Make titles from a text or a tool, such as those of AgentForge's `ask-human`."""

from __future__ import annotations

MAX_TITLE = 200


def title_and_message(text: str) -> tuple[str, str]:
    """Return a title of at most MAX_TITLE characters, and the whole text as message unless the title contains all of it."""
    first_line = text.strip().splitlines()[0] if text.strip() else "Question"
    if first_line == text.strip() and len(first_line) <= MAX_TITLE:
        return first_line, ""
    return (
        first_line
        if len(first_line) <= MAX_TITLE
        else first_line[: MAX_TITLE - 1] + "…"
    ), text


def is_made(title: str, tool_name: str) -> bool:
    """Return whether a title only repeats the tool's name, like the default titles of clients and of MCP."""
    return bool(tool_name) and title in (tool_name, f"Run {tool_name}?")
