"""WebSocket URLs of the desk."""

from __future__ import annotations

from django.urls import path

from approvals.pages.inbox_live import RequestsConsumer
from approvals.pages.live import DeskConsumer

# URLRouter takes ASGI applications, which the types of `path` do not know.
websocket_urlpatterns = [
    path("ws/desk/", DeskConsumer.as_asgi()),  # type: ignore[arg-type]
    path("ws/requests/", RequestsConsumer.as_asgi()),  # type: ignore[arg-type]
]
