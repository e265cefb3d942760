"""URLs of the API below `/api/v1/`; none ends in a slash."""

from __future__ import annotations

from django.urls import path

from approvals.api import ask_human
from approvals.api.agentforge import endpoint as agentforge
from approvals.api.hooks import views as hooks

app_name = "desk_api"

urlpatterns = [
    path("ask-human", ask_human.ask, name="ask-human"),
    path("ask-human/<uuid:pk>", ask_human.outcome, name="ask-human-outcome"),
    *(
        path(f"hooks/{agent}", view, name=f"hook-{agent}")
        for agent, view in hooks.VIEWS.items()
    ),
    path("events", agentforge.follow, name="events"),
]
