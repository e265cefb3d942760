"""The desks of the package: the clients of `pausepoint.desk`, with the decorator and Claude's permission callback."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pausepoint import desk
from pausepoint.approve import approved

if TYPE_CHECKING:
    from claude_agent_sdk import (
        PermissionResultAllow,
        PermissionResultDeny,
        ToolPermissionContext,
    )

F = TypeVar("F", bound=Callable[..., Any])


class Desk(desk.Desk):
    """A client that blocks while it waits. Safe to share between threads."""

    def approve(
        self,
        tool: str,
        *,
        key: str | Callable[..., str] = "",
        thread_id: str | Callable[..., str] = "",
        **fields: Any,
    ) -> Callable[[F], F]:
        """Decorate a function, so that a person decides each of its calls.

            @desk.approve("refund", key=lambda order, amount: f"refund-{order}")
            def refund(order: str, amount: int) -> str: ...

        The function runs with the approved arguments, and its result is reported. If the call was not approved, NotApproved
        is raised. `key` names a call: a call with the same key is never asked about twice and never runs twice, also in
        another process; its reported result is returned, or HasFailed is raised. Without a key, a call is identified by
        `thread_id`, its arguments, and how often it was made; without either, each call asks. The `fields` go into each
        request.
        """
        return approved(self, tool, key, thread_id, fields)


class AsyncDesk(desk.AsyncDesk):
    """A client for asyncio: hundreds of calls can wait at once."""

    def approve(
        self,
        tool: str,
        *,
        key: str | Callable[..., str] = "",
        thread_id: str | Callable[..., str] = "",
        **fields: Any,
    ) -> Callable[[F], F]:
        """Like `Desk.approve`, for coroutine functions."""
        return approved(self, tool, key, thread_id, fields)

    async def can_use_tool(
        self, name: str, input: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        """Answer the Claude Agent SDK, as its `can_use_tool`. Needs `pip install "pausepoint[claude]"`."""
        from pausepoint.claude import can_use_tool  # noqa: PLC0415 - an extra of the package

        return await can_use_tool(self, name, input, context)
