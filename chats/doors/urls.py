"""Addresses for chat clients. A chat's id is whatever its client chose, slashes too; none of these ends in one."""

from __future__ import annotations

from django.urls import path

from chats.doors import ai_sdk, client_tokens, exports

app_name = "chat_api"

urlpatterns = [
    path("chat", ai_sdk.post, name="post"),
    path("chat/<path:public_id>/stream", ai_sdk.resume, name="resume"),
    path("chat/<path:public_id>/stop", ai_sdk.stop, name="stop"),
    path("chat/<path:public_id>/export", exports.export_own, name="export-own"),
    path("chats/<int:pk>/export", exports.export, name="export"),
    path("chat/<path:public_id>", ai_sdk.read, name="read"),
    path("v1/client-tokens", client_tokens.create, name="client-tokens"),
]
