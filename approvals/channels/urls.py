"""URLs of the channels in which people answer."""

from __future__ import annotations

from django.urls import path

from approvals.channels import pages as shared
from approvals.channels.slack import endpoint, pages

app_name = "slack"

urlpatterns = [
    path("api/slack/interactivity", endpoint.interactivity, name="interactivity"),
    path("api/slack/events", endpoint.events, name="events"),
    path("settings/slack/", pages.setup, name="setup"),
    path("settings/slack/test/", pages.send_test, name="test"),
    path("settings/slack/preview/<int:pk>/", shared.preview, name="preview"),
    path("settings/slack/disconnect/", pages.disconnect, name="disconnect"),
    path("settings/slack/link/<str:token>/", shared.link, name="link"),
    path("settings/slack/unlink/<int:pk>/", shared.unlink, name="unlink"),
]
