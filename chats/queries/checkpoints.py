"""Checkpoints of chats, and the parts of the message at each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from django.db.models import QuerySet

from approvals.access.standing import Standing
from approvals.json_types import JsonDict
from chats import checkpoints
from chats.exceptions import ChatNotFound, ChatPruned
from chats.models import Chat, TurnCheckpoint
from chats.queries.chats import get_chat_for


def checkpoints_of(chat: Chat) -> QuerySet[TurnCheckpoint]:
    """Return the checkpoints of a chat, oldest first."""
    return TurnCheckpoint.objects.filter(chat_pk=chat.pk).order_by("id")


def get_checkpoint_for(
    viewer: Standing, pk: int
) -> tuple[Chat, TurnCheckpoint, list[JsonDict]]:
    """Return the chat, the checkpoint and its parts. Raise ChatNotFound or ChatPruned."""
    checkpoint = TurnCheckpoint.objects.filter(pk=pk).first()
    if checkpoint is None:
        raise ChatNotFound
    chat = get_chat_for(viewer, checkpoint.chat_pk)
    if (chat.root or chat).pruned_at is not None:
        raise ChatPruned
    return chat, checkpoint, parts_at(checkpoint)


def parts_at(checkpoint: TurnCheckpoint) -> list[JsonDict]:
    """Return the message's parts at a checkpoint."""
    earlier = TurnCheckpoint.objects.filter(
        chat_pk=checkpoint.chat_pk,
        message_id=checkpoint.message_id,
        ordinal__lte=checkpoint.ordinal,
    )
    return checkpoints.fold(earlier.order_by("ordinal"))


def group_by_message(rows: Iterable[TurnCheckpoint]) -> dict[str, list[TurnCheckpoint]]:
    """Return checkpoints by message id, in the given order."""
    grouped: dict[str, list[TurnCheckpoint]] = defaultdict(list)
    for checkpoint in rows:
        grouped[checkpoint.message_id].append(checkpoint)
    return dict(grouped)
