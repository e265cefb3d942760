"""URLs of the installed apps; `approvals` also works without `chats`."""

from __future__ import annotations

from django.apps import apps
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.utils.translation import gettext_lazy as _

from hitlsite import installing, views
from hitlsite.health.system import system
from hitlsite.leaked_keys import leaked_keys
from hitlsite.scim import scim

admin.site.site_header = admin.site.site_title = "Pausepoint"
admin.site.index_title = _("Records and keys")

# First, because these addresses are the most frequent.
urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include("approvals.api.rest.urls"))
]
if apps.is_installed("chats"):
    urlpatterns.append(path("api/", include("chats.protocols.urls")))
urlpatterns += [
    path("favicon.ico", views.favicon),
    path("manifest.webmanifest", installing.manifest, name="manifest"),
    path("worker.js", installing.service_worker, name="worker"),
    path("offline/", installing.offline, name="offline"),
    path("words.js", views.script_words, name="words"),
    path("", include("hitlsite.accounts.urls")),
    path("admin/", admin.site.urls),
    path("settings/system/", system, name="system"),
    path("", include("approvals.urls")),
    path("", include("approvals.channels.urls")),
    path("", include("approvals.channels.relay.urls")),
    path("api/v1/", include("approvals.api.urls")),
    path("api/v1/leaked-keys", leaked_keys, name="leaked-keys"),
    path("mcp", include("approvals.api.mcp.urls")),
    path("scim/v2", scim),
    path("scim/v2<path:address>", scim, name="scim"),
]
if apps.is_installed("chats"):
    urlpatterns += [
        path("chats/", include("chats.urls")),
        path("", include("chats.protocols.cedar.urls")),
    ]
# Last, so that an unknown address, even one with a line break, gets our own page, also with DEBUG.
urlpatterns.append(re_path(r"^(?P<address>[\s\S]*)$", views.unknown_address))

handler400 = "hitlsite.views.bad_request"
handler403 = "hitlsite.views.permission_denied"
handler404 = "hitlsite.views.page_not_found"
handler429 = "hitlsite.views.too_many_requests"  # allauth's own
handler500 = "hitlsite.views.server_error"
