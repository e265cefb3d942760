"""Addresses of the chats' pages."""

from __future__ import annotations

from django.urls import path

from chats import views

app_name = "chats"

urlpatterns = [
    path("", views.chats, name="chats"),
    path("new/", views.new_chat, name="new"),
    path("<int:pk>/", views.chat, name="chat"),
    path("<int:pk>/messages/", views.post_message, name="post"),
    path("<int:pk>/stop/", views.stop, name="stop"),
    path("<int:pk>/checkpoints/", views.checkpoints, name="checkpoints"),
    path("checkpoints/<int:pk>/", views.checkpoint, name="checkpoint"),
]
