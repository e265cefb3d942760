"""URLs of the desk's API below `/api/v1/`; none ends in a slash."""

from __future__ import annotations

from django.urls import path

from approvals.api import ask_human, events

app_name = "desk_api"

urlpatterns = [
    path("ask-human", ask_human.ask, name="ask-human"),
    path("ask-human/<uuid:pk>", ask_human.outcome, name="ask-human-outcome"),
    path("events", events.follow, name="events"),
]
