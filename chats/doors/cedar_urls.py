"""Addresses that the npm package cedar-os calls below its `baseURL`, and two more for apps; none ends in a slash."""

from __future__ import annotations

from django.urls import path

from chats.doors import cedar

app_name = "cedar"

urlpatterns = [
    path("chat", cedar.chat, name="chat"),
    path("chat/stream", cedar.chat_stream, name="chat-stream"),
    path("chat/resume", cedar.resume, name="resume"),
    path("chat/resume/stream", cedar.resume_stream, name="resume-stream"),
    path("chat/suspended", cedar.suspended, name="suspended"),
    path("chat/cancel", cedar.cancel, name="cancel"),
]
