"""URLs of the channels in which people answer, each kind in a namespace of its own."""

from __future__ import annotations

from django.urls import URLPattern, include, path

from approvals.channels import pages
from approvals.channels.slack import endpoint as slack
from approvals.channels.slack import pages as slack_pages
from approvals.channels.teams import endpoint as teams
from approvals.channels.teams import pages as teams_pages


def _shared(address: str, kind: str) -> list[URLPattern]:
    of_kind = {"kind": kind}
    return [
        path(f"{address}/disconnect/", pages.disconnect, of_kind, name="disconnect"),
        path(f"{address}/preview/<int:pk>/", pages.preview, name="preview"),
        path(f"{address}/link/<str:token>/", pages.link, name="link"),
        path(f"{address}/unlink/<int:pk>/", pages.unlink, name="unlink"),
    ]


_slack = [
    path("api/slack/interactivity", slack.interactivity, name="interactivity"),
    path("api/slack/events", slack.events, name="events"),
    path("settings/slack/", slack_pages.setup, name="setup"),
    path("settings/slack/test/", slack_pages.send_test, name="test"),
    *_shared("settings/slack", slack_pages.SLACK),
]
_teams = [
    path("api/teams/messages", teams.messages, name="messages"),
    path("settings/microsoft-teams/", teams_pages.setup, name="setup"),
    path("settings/microsoft-teams/package/", teams_pages.package, name="package"),
    path("settings/microsoft-teams/test/", teams_pages.send_test, name="test"),
    *_shared("settings/microsoft-teams", teams_pages.TEAMS),
]
urlpatterns = [
    path("", include((_slack, "slack"))),
    path("", include((_teams, "teams"))),
]
