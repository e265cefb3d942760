"""Export a chat: by number for everyone who may read it, or by public id for its owner."""

from __future__ import annotations

from http import HTTPMethod

from django.http import HttpRequest, HttpResponse

from approvals.access.callers import Caller
from approvals.api.frame import CONFINED, endpoint
from approvals.live.streaming import streamed_response
from chats import queries
from chats.models import Chat
from chats.protocols.callers import confine, own_chat
from chats.queries import export as exporting


@endpoint("GET", "read", tokens=CONFINED)
def export(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    """Export the chat with this number, as in the address of its page."""
    chat = queries.get_chat_for(caller.standing, pk)
    confine(caller, chat.public_id, owner=chat.owner_id)
    return _export(request, chat, masks=chat.owner_id != caller.user.pk)


@endpoint("GET", "read", tokens=CONFINED)
def export_own(request: HttpRequest, caller: Caller, public_id: str) -> HttpResponse:
    """Export the caller's own chat with this public id."""
    return _export(request, own_chat(caller, public_id), masks=False)


def _export(request: HttpRequest, chat: Chat, *, masks: bool) -> HttpResponse:
    headers = exporting.headers(chat)
    if request.method == HTTPMethod.HEAD:
        return HttpResponse(content_type="application/json", headers=headers)
    return streamed_response(
        request,
        exporting.pieces(chat, masks=masks),
        content_type="application/json",
        headers=headers,
    )
