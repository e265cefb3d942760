"""WebSocket addresses of the desk."""

from __future__ import annotations

from django.urls import path

from approvals.consumers import DeskConsumer

websocket_urlpatterns = [path("ws/desk/", DeskConsumer.as_asgi())]  # type: ignore[arg-type]  # an ASGI application, which URLRouter takes
