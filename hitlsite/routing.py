"""WebSocket addresses, built from the installed apps."""

from __future__ import annotations

from typing import Any

from django.apps import apps

from approvals.routing import websocket_urlpatterns as desk

if apps.is_installed("chats"):
    from chats.routing import websocket_urlpatterns as chats
else:
    chats = []

websocket_urlpatterns: list[Any] = [*desk, *chats]
