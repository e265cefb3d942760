"""Addresses of the chats' pages."""

from __future__ import annotations

from django.urls import path

from chats.lookback import views as lookback
from chats.pages import usage, views

app_name = "chats"

urlpatterns = [
    path("", views.chats, name="chats"),
    path("new/", views.new_chat, name="new"),
    path("usage/", usage.agents_usage, name="usage"),
    path("<int:pk>/", views.chat_detail, name="chat"),
    path("<int:pk>/usage/", usage.chat_usage, name="chat-usage"),
    path("<int:pk>/messages/", views.post_message, name="post"),
    path(
        "<int:pk>/messages/<int:message>/parts/<int:part>/",
        views.message_part,
        name="part",
    ),
    path("<int:pk>/stop/", views.stop, name="stop"),
    path("<int:pk>/checkpoints/", views.checkpoints, name="checkpoints"),
    path("<int:pk>/timeline/", lookback.timeline, name="timeline"),
    path("<int:pk>/compare/", lookback.compare, name="compare"),
    path("<int:pk>/export/", lookback.export, name="export"),
    path("checkpoints/<int:pk>/", views.checkpoint, name="checkpoint"),
    path("checkpoints/<int:pk>/branch/", lookback.branch, name="branch"),
]
