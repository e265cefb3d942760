"""WebSocket URLs of the pages."""

from __future__ import annotations

from django.urls import path

from approvals.pages.consumers import DeskConsumer
from approvals.pages.lists.inbox_consumer import InboxConsumer
from approvals.pages.lists.workflows_consumer import WorkflowsConsumer

# URLRouter takes ASGI applications, which the types of `path` do not allow.
websocket_urlpatterns = [
    path("ws/desk/", DeskConsumer.as_asgi()),  # type: ignore[arg-type]
    path("ws/workflows/", WorkflowsConsumer.as_asgi()),  # type: ignore[arg-type]
    path("ws/requests/", InboxConsumer.as_asgi()),  # type: ignore[arg-type]
]
