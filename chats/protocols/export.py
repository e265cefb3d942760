"""A chat with everything, for programs: by its number for all who may read it, by its own id for its owner."""

from __future__ import annotations

from http import HTTPMethod

from django.http import HttpRequest, HttpResponse

from approvals.access.callers import Caller
from approvals.http import endpoint
from approvals.live.streaming import handed_over
from chats import queries
from chats.exceptions import ChatNotFound
from chats.models import Chat
from chats.protocols.callers import confine, own_chat
from chats.queries import export as exporting


@endpoint("GET")
def export(request: HttpRequest, caller: Caller, pk: int) -> HttpResponse:
    """The chat of this number, which stands in its page's address."""
    caller.require("read")
    chat = queries.get_chat_for(caller.user, pk)
    if caller.thread is not None and chat.owner_id != caller.user.pk:
        # Ids are unique per owner: another's chat may bear the id that the token is for.
        raise ChatNotFound
    confine(caller, chat.public_id)
    return _exported(request, chat)


@endpoint("GET")
def export_own(request: HttpRequest, caller: Caller, public_id: str) -> HttpResponse:
    """The caller's own chat of the id that their client chose."""
    caller.require("read")
    return _exported(request, own_chat(caller, public_id))


def _exported(request: HttpRequest, chat: Chat) -> HttpResponse:
    headers = exporting.headers(chat)
    if request.method == HTTPMethod.HEAD:
        return HttpResponse(content_type="application/json", headers=headers)
    return handed_over(request, exporting.pieces(chat), content_type="application/json", headers=headers)
