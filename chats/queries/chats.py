"""Chats and messages visible to a person. Absent and forbidden chats look the same."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import BigAutoField, CharField, IntegerField, QuerySet

from approvals.access.permissions import sees_everything
from approvals.access.standing import Standing
from approvals.asking.transcripts import MAX_MESSAGES
from approvals.db.prepared import Parameter, Prepared
from approvals.models.actors import Actor
from chats.exceptions import ChatNotFound, ChatPruned
from chats.models import Attachment, Chat, Message
from chats.queries.projection import message_parts, text_with_files
from chats.queries.steps import steps_of_message


def chats_for(viewer: Standing) -> QuerySet[Chat]:
    """Return chats that this person may read: their own, or all for approvers and auditors."""
    chats = Chat.objects.select_related("owner").order_by("-updated_at", "-id")
    return chats if sees_everything(viewer) else chats.filter(owner=viewer.pk)


def get_chat_for(viewer: Standing, pk: int) -> Chat:
    """Return a chat that this person may read. Raise ChatNotFound."""
    chat = chats_for(viewer).filter(pk=pk).first()
    if chat is None:
        raise ChatNotFound
    return chat


def copies_of_file_for(viewer: Standing, file_id: uuid.UUID) -> QuerySet[Attachment]:
    """Return the copies of a file in chats that this person may read, with their chats: branches have one each."""
    chats = chats_for(viewer).order_by()
    files = Attachment.objects.filter(
        file_id=file_id, chat__in=chats.values("pk"), chat__pruned_at=None
    )
    # The content is read only if the client has no copy.
    return files.select_related("chat").defer("content").order_by("pk")


#: A person's own chat by its public id.
_OWN: Prepared[Chat] = Prepared(
    lambda: Chat.objects.select_related("owner").filter(
        owner=Parameter("owner", IntegerField()),
        public_id=Parameter("public_id", CharField()),
    )
)


def find_own_chat(owner: Actor, public_id: str) -> Chat | None:
    """Return the person's own chat with that public id, even if its contents were removed."""
    return _OWN.first(owner=owner.pk, public_id=public_id)


def get_own_chat(owner: Actor, public_id: str) -> Chat:
    """Return the person's own chat with that public id. Raise ChatNotFound or ChatPruned."""
    chat = find_own_chat(owner, public_id)
    if chat is None:
        raise ChatNotFound
    if chat.pruned_at is not None:
        raise ChatPruned
    return chat


def last_messages(
    chat: Chat, *, limit: int, before: int | None = None
) -> list[Message]:
    """Return the last `limit` messages of a chat with their parts, before a position if given, oldest first."""
    shown = chat.shown if before is None else chat.shown.filter(position__lt=before)
    latest = list(shown.order_by("-position")[:limit])
    return [with_parts(message) for message in reversed(latest)]


def message_of(chat: Chat, pk: int) -> Message | None:
    """Return a message of a chat with its parts, unless it was removed."""
    message = chat.shown.filter(pk=pk).first()
    return None if message is None else with_parts(message)


def with_parts(message: Message) -> Message:
    """Give a message its parts if none are stored because its turn is unfinished."""
    if not message.parts:
        message.parts = message_parts(steps_of_message(message))
    return message


#: The last messages before one, for a request's conversation.
_EARLIER: Prepared[tuple[str, Any]] = Prepared(
    lambda: (
        Message.objects.filter(chat=Parameter("chat", BigAutoField()), cut_at=None)
        .exclude(message_id=Parameter("message_id", CharField()))
        .order_by("-position")
        .values_list("role", "parts")[: MAX_MESSAGES - 1]
    )
)


def texts_before(chat: Chat, message_id: str) -> list[tuple[str, str]]:
    """Return (role, text) of the last messages but the one with this id, the oldest first, without tool parts."""
    earlier = _EARLIER.all(chat=chat.pk, message_id=message_id)
    return [(role, text_with_files(parts)) for role, parts in reversed(earlier)]


def last_cut_messages(chat: Chat, *, limit: int) -> list[int]:
    """Return the ids of the last `limit` messages that an edit or a regeneration removed."""
    messages = chat.messages.filter(cut_at__isnull=False).order_by(
        "-cut_at", "-position"
    )
    return list(messages.values_list("pk", flat=True)[:limit])


def is_known_message_id(chat: Chat, message_id: str) -> bool:
    """Return whether this is the id of a shown message or of a turn without a message; "" is accepted too."""
    return (
        not message_id
        or chat.shown.filter(message_id=message_id).exists()
        or chat.turns.filter(message_id=message_id).exists()
    )
