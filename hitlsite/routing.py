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


async def unknown_address(scope: Any, receive: Any, send: Any) -> None:
    """Accept an unknown address and close it with NOT_FOUND, because a close code needs an accepted connection."""
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": NOT_FOUND})


# Last, because the router raises for an unknown address, and anyone could fill the log with tracebacks.
websocket_urlpatterns: list[Any] = [
    *desk,
    *chats,
    re_path(r"^[\s\S]*$", unknown_address),  # type: ignore[arg-type]
]
