"""Accept WebSockets only from pages of this site: same scheme, host and port, as for forms."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from channels.security.websocket import WebsocketDenier
from django.core.handlers.asgi import ASGIRequest
from django.middleware.csrf import CsrfViewMiddleware


class SameOrigin:
    """ASGI application: `app`, for pages of this site and of CSRF_TRUSTED_ORIGINS."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        # A denier serves one connection.
        app = self.app if is_same_origin(scope) else WebsocketDenier()
        await app(scope, receive, send)


def is_same_origin(scope: dict[str, Any]) -> bool:
    """Return whether a WebSocket comes from this site, by the rule of Django's CSRF check."""
    scheme = {"ws": "http", "wss": "https"}[scope.get("scheme", "ws")]
    request = ASGIRequest(
        {**scope, "method": "GET", "scheme": scheme, "query_string": b""}, BytesIO()
    )
    rule: Any = CsrfViewMiddleware(lambda request: None)  # type: ignore[arg-type]
    return "HTTP_ORIGIN" in request.META and rule._origin_verified(request)
