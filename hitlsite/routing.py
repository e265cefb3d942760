"""WebSocket addresses, built from the installed apps."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.urls import re_path

from approvals.pages.consumers import NOT_FOUND
from approvals.routing import websocket_urlpatterns as desk

if apps.is_installed("chats"):
    from chats.routing import websocket_urlpatterns as chats
else:
    chats = []


async def nowhere(scope: Any, receive: Any, send: Any) -> None:
    """No page has a line to this address. Said as a page is told of a chat that is not there: only a line has a code."""
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": NOT_FOUND})


# Last of all: what no route takes is an error of the router's, for which anybody could fill the log with tracebacks.
websocket_urlpatterns: list[Any] = [*desk, *chats, re_path(r"^[\s\S]*$", nowhere)]  # type: ignore[arg-type]
