"""Data for branching a chat: the right to do it, and the state of the chat at a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Max, Q, QuerySet
from django.utils.translation import gettext as _

from approvals.db.cursors import take_page
from approvals.json_types import JsonDict
from approvals.models import ApprovalRequest
from approvals.states import Kind
from chats.exceptions import BranchRefused
from chats.history import CLOSED
from chats.models import Chat, Message, Turn, TurnCheckpoint
from chats.queries import subagents

#: The number of branches that a page lists.
LISTED = 20


@dataclass(frozen=True, slots=True)
class OpenCalls:
    """The toolCallIds of the calls that were open at a checkpoint.

    `started` are those whose outcome was unknown, with the number of their runs. All others had never run.
    """

    ids: frozenset[str]
    started: Mapping[str, int]


def may_branch(person_id: int, chat: Chat) -> bool:
    """Return whether this person may branch the chat: the owner may, except a sub-agent's chat."""
    return chat.owner_id == person_id and chat.root_id is None


def open_part_ids(parts: Sequence[JsonDict]) -> list[str]:
    """Return the toolCallIds of the calls without a result in these parts of a message."""
    return [
        part["toolCallId"]
        for part in parts
        if "toolCallId" in part and part["state"] not in CLOSED
    ]


def open_calls_at(
    chat: Chat, checkpoint: TurnCheckpoint, parts: Sequence[JsonDict]
) -> OpenCalls:
    """Return the calls that were open at a checkpoint. Raise BranchRefused if a sub-agent was at work."""
    ids = open_part_ids(parts)
    if subagents.conversations(chat.pk, ids):
        raise BranchRefused(
            _(
                "A sub-agent was at work at this checkpoint, in its own conversation, which cannot be copied. "
                "Branch from a checkpoint before or after it."
            )
        )
    recoveries = ApprovalRequest.objects.filter(
        scope=chat.scope,
        kind=Kind.RECOVERY,
        tool_call_id__in=ids,
        created_at__lte=checkpoint.created_at,
    )
    started = recoveries.values_list("tool_call_id").annotate(Max("attempt")).order_by()
    return OpenCalls(
        frozenset(ids), {str(call_id): attempt for call_id, attempt in started}
    )


def turn_of(checkpoint: TurnCheckpoint) -> Turn:
    """Return the turn that made a checkpoint. Raise BranchRefused if it was deleted."""
    turn = Turn.objects.filter(pk=checkpoint.turn_pk).first()
    if turn is None:
        raise BranchRefused(
            _(
                "The turn of this checkpoint was deleted. Branch from a later checkpoint."
            )
        )
    return turn


def message_of(chat: Chat, checkpoint: TurnCheckpoint) -> Message | None:
    """Return the checkpoint's message as it is stored now; None if the turn never had one."""
    return (
        chat.messages.filter(message_id=checkpoint.message_id, role="assistant")
        .order_by("position")
        .last()
    )


def messages_before(
    chat: Chat, checkpoint: TurnCheckpoint, turn: Turn
) -> QuerySet[Message]:
    """Return the messages before the checkpoint's message as of that time, regardless of later edits."""
    message = message_of(chat, checkpoint)
    if message is None:
        shown = Q(cut_at__isnull=True) | Q(cut_at__gt=turn.created_at)
        return chat.messages.filter(shown, created_at__lte=turn.created_at).order_by(
            "position"
        )
    # A message that was shown together with this one was removed with it or later.
    shown = (
        Q(cut_at__isnull=True)
        if message.cut_at is None
        else Q(cut_at__isnull=True) | Q(cut_at__gte=message.cut_at)
    )
    return chat.messages.filter(shown, position__lt=message.position).order_by(
        "position"
    )


@dataclass(frozen=True, slots=True)
class Branches:
    """The `latest` branches of a chat, and whether there are `more`."""

    latest: Sequence[Chat]
    more: bool


def branches_of(chat: Chat) -> Branches:
    """Return the latest branches of a chat."""
    return Branches(*take_page(chat.branches.order_by("-id"), LISTED))
