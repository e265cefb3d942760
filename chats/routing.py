"""WebSocket addresses of the chats."""

from __future__ import annotations

from django.urls import path

from chats.pages.consumers import ChatConsumer

websocket_urlpatterns = [path("ws/chats/<int:pk>/", ChatConsumer.as_asgi())]  # type: ignore[arg-type]  # an ASGI application, which URLRouter takes
