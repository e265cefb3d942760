"""URLs of relays: their pages, and their own addresses."""

from __future__ import annotations

from django.urls import path

from approvals.channels import pages as shared
from approvals.channels.relay import endpoint, pages

app_name = "relay"

urlpatterns = [
    path("api/v1/relays/schema.json", endpoint.schema, name="schema"),
    path("api/v1/relays/<slug:name>/answers", endpoint.answer, name="answers"),
    path("api/v1/relays/<slug:name>/links", endpoint.link, name="links"),
    path("settings/relays/", pages.relays, name="setup"),
    path("settings/relays/<slug:name>/", pages.relay, name="relay"),
    path("settings/relays/<slug:name>/secret/", pages.rotate, name="rotate"),
    path("settings/relays/<slug:name>/test/", pages.send_test, name="test"),
    path("settings/relays/<slug:name>/remove/", pages.remove, name="remove"),
    path("settings/relay-link/<str:token>/", shared.link, name="link"),
    path("settings/relay-unlink/<int:pk>/", shared.unlink, name="unlink"),
]
