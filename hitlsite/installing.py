"""Make the pages an installable app: a manifest, a service worker, and an offline page."""

from __future__ import annotations

from pathlib import Path

from django.contrib.auth.decorators import login_not_required
from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

#: The accent and background colors of `tokens.css`.
ACCENT = "#0f766e"
GROUND = "#f4f5f7"


@login_not_required
@require_safe
@cache_control(max_age=3600)
def manifest(request: HttpRequest) -> HttpResponse:
    """Return the web app manifest (https://www.w3.org/TR/appmanifest/)."""
    sizes = {"192x192": "icon-192.png", "512x512": "icon-512.png"}
    icons = [
        {
            "src": static(f"pausepoint/{name}"),
            "sizes": size,
            "type": "image/png",
            "purpose": purpose,
        }
        for size, name in sizes.items()
        for purpose in ("any", "maskable")
    ]
    body = {
        "id": "/",
        "name": "Pausepoint",
        "short_name": "Pausepoint",
        "description": _("Approve and answer the requests of your agents."),
        "start_url": reverse("approvals:dashboard"),
        "scope": "/",
        "display": "standalone",
        "theme_color": ACCENT,
        "background_color": GROUND,
        "icons": icons,
    }
    return JsonResponse(body, content_type="application/manifest+json")


@login_not_required
@require_safe
@cache_control(no_cache=True)
def service_worker(request: HttpRequest) -> HttpResponse:
    """Return the service worker. It is served here because a worker controls only pages below its own address."""
    path = finders.find("pausepoint/worker.js")
    return HttpResponse(
        Path(str(path)).read_text(), content_type="text/javascript; charset=utf-8"
    )


@login_not_required
@require_safe
def offline(request: HttpRequest) -> HttpResponse:
    """Show the page that the service worker keeps for offline use."""
    return render(request, "offline.html")
