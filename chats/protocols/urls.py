"""Addresses for chat clients. A chat's public id is any text, slashes included; no address ends in a slash."""

from __future__ import annotations

from django.urls import path

from chats.protocols import export, files, tokens
from chats.protocols.ai_sdk import endpoint

app_name = "chat_api"

urlpatterns = [
    path("chat", endpoint.post, name="post"),
    path("chat/<path:public_id>/stream", endpoint.resume, name="resume"),
    path("chat/<path:public_id>/stop", endpoint.stop, name="stop"),
    path("chat/<path:public_id>/export", export.export_own, name="export-own"),
    path("chats/files/<uuid:file_id>", files.read, name="file"),
    path("chats/<int:pk>/export", export.export, name="export"),
    path("chat/<path:public_id>", endpoint.read, name="read"),
    path("v1/client-tokens", tokens.create, name="client-tokens"),
]
