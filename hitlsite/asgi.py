"""The ASGI application: pages over HTTP, live updates over WebSocket (same origin only), for any ASGI server."""

from __future__ import annotations

import os

import django
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import CookieMiddleware

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitlsite.settings")
django.setup(set_prefix=False)

# The models need the app registry, which is ready only now.
from approvals.live.streaming import DetachedBodies  # noqa: E402
from hitlsite.health.probes import Probes  # noqa: E402
from hitlsite.routing import websocket_urlpatterns  # noqa: E402
from hitlsite.server.handler import BodyBound, OneThreadHandler  # noqa: E402
from hitlsite.server.origins import SameOrigin  # noqa: E402
from hitlsite.server.outages import Outages  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": Probes(BodyBound(Outages(DetachedBodies(OneThreadHandler())))),
        "websocket": SameOrigin(CookieMiddleware(URLRouter(websocket_urlpatterns))),
    }
)
