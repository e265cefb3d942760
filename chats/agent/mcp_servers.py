"""MCP servers whose tools the model's provider calls itself, inside an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from chats.agent.server_tools import asking_tool
from chats.agent.tools import Tool

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NAME_OF_TOOL = re.compile(r"[a-zA-Z0-9_.-]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A remote MCP server that the model's provider connects to.

    The provider calls its tools within an answer, so no one can be asked about a call: either the server as a whole
    `needs_approval`, like a `ServerTool`, or `runs_without_approval` means that its `tools` may be called with any input. Only
    the listed tools can be called. `token` is the server's OAuth token, or a quick function that returns the valid one; it is
    sent to the model's provider, and stored and logged nowhere.
    """

    name: str
    url: str
    tools: Sequence[str]
    token: str | Callable[[], str] = field(default="", repr=False)
    runs_without_approval: bool = False
    needs_approval: bool = False
    priority: str = "normal"
    deadline: float | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"MCP server {self.name!r}: the name must have 1 to 64 letters, digits, _ and -"
            )
        if not _is_https(self.url):
            raise ValueError(
                f"MCP server {self.name}: the url must start with https:// and must not contain a username"
            )
        if (
            isinstance(self.tools, str)
            or not self.tools
            or not all(map(_NAME_OF_TOOL.fullmatch, self.tools))
        ):
            raise ValueError(
                f"MCP server {self.name}: list the names of the tools that may be called"
            )
        if self.runs_without_approval == self.needs_approval:
            raise ValueError(
                f"MCP server {self.name}: the model's provider calls its tools, so no one is asked about a call. Set "
                "needs_approval=True to ask before the server is offered, or runs_without_approval=True to accept any call"
            )

    @property
    def secret(self) -> str:
        """The currently valid token."""
        return self.token() if callable(self.token) else self.token

    @property
    def accepted(self) -> McpServer:
        """This server for the model: a person has approved it, or no approval was needed."""
        return replace(self, needs_approval=False, runs_without_approval=True)

    @property
    def asking(self) -> Tool:
        """The tool with which the model asks a person for permission to use this server."""
        does = f"calls the tools {', '.join(self.tools)} of the MCP server at {urlsplit(self.url).hostname}"
        return asking_tool(
            self.name, does, priority=self.priority, deadline=self.deadline
        )


def _is_https(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return (
        parts.scheme == "https"
        and bool(parts.hostname)
        and "@" not in parts.netloc
        and url.isascii()
        and url.isprintable()
    )
