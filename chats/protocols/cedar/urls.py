"""Addresses that the npm package cedar-os calls below its `baseURL`, and two more for apps. None ends in a slash."""

from __future__ import annotations

from django.urls import path

from chats.protocols.cedar import endpoint

app_name = "cedar"

urlpatterns = [
    path("chat", endpoint.chat, name="chat"),
    path("chat/stream", endpoint.chat_stream, name="chat-stream"),
    path("chat/resume", endpoint.resume, name="resume"),
    path("chat/resume/stream", endpoint.resume_stream, name="resume-stream"),
    path("chat/suspended", endpoint.suspended, name="suspended"),
    path("chat/cancel", endpoint.cancel, name="cancel"),
]
