"""Where a chat can be branched, and what a checkpoint knows of the conversation around it. Reads only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Max, Q, QuerySet
from django.utils.translation import gettext as _

from approvals.access.permissions import Person
from approvals.models import ApprovalRequest
from approvals.states import Kind
from chats.exceptions import BranchRefused
from chats.models import Chat, Message, Turn, TurnCheckpoint
from chats.queries import subagents

#: Branches that a page lists, the latest first.
LISTED = 20
_CLOSED_PARTS = frozenset({"output-available", "output-error", "output-denied"})


@dataclass(frozen=True, slots=True)
class Opened:
    """The calls that were open at a checkpoint, by toolCallId.

    `begun` are those whose outcome nobody knew, with the number of times they had been begun; all others had only been
    asked about.
    """

    ids: frozenset[str]
    begun: Mapping[str, int]


def may_branch(user: Person, chat: Chat) -> bool:
    """Whether this person writes in the chat; in a sub-agent's conversation an agent does."""
    return chat.owner_id == user.pk and chat.root_id is None


def open_part_ids(parts: Sequence[dict[str, Any]]) -> list[str]:
    """The calls that had no result when a message read like this."""
    return [part["toolCallId"] for part in parts if "toolCallId" in part and part["state"] not in _CLOSED_PARTS]


def opened_at(chat: Chat, checkpoint: TurnCheckpoint, parts: Sequence[dict[str, Any]]) -> Opened:
    """What was open at a checkpoint. BranchRefused if a sub-agent was at work on it."""
    ids = open_part_ids(parts)
    if subagents.conversations(chat.pk, ids):
        raise BranchRefused(
            _(
                "A sub-agent was at work at this checkpoint, in its own conversation, which cannot be copied. "
                "Branch from a checkpoint before or after it."
            )
        )
    asked = ApprovalRequest.objects.filter(
        scope=chat.scope, kind=Kind.RECOVERY, tool_call_id__in=ids, created_at__lte=checkpoint.created_at
    )
    begun = asked.values_list("tool_call_id").annotate(Max("attempt")).order_by()
    return Opened(frozenset(ids), {str(call_id): attempt for call_id, attempt in begun})


def turn_of(checkpoint: TurnCheckpoint) -> Turn:
    """The turn that made a checkpoint. BranchRefused if it is there no more."""
    turn = Turn.objects.filter(pk=checkpoint.turn_pk).first()
    if turn is None:
        raise BranchRefused(_("The turn of this checkpoint was deleted. Branch from a later checkpoint."))
    return turn


def message_of(chat: Chat, checkpoint: TurnCheckpoint) -> Message | None:
    """The checkpoint's message as it is stored now; None where nothing was ever said in it."""
    return chat.messages.filter(message_id=checkpoint.message_id, role="assistant").order_by("position").last()


def messages_before(chat: Chat, checkpoint: TurnCheckpoint, turn: Turn) -> QuerySet[Message]:
    """What stood before the checkpoint's message when that was written, edits of today notwithstanding."""
    message = message_of(chat, checkpoint)
    if message is None:
        shown = Q(cut_at__isnull=True) | Q(cut_at__gt=turn.created_at)
        return chat.messages.filter(shown, created_at__lte=turn.created_at).order_by("position")
    # What was cut off while this message was shown took it along: the same moment, or a later one.
    shown = Q(cut_at__isnull=True) if message.cut_at is None else Q(cut_at__isnull=True) | Q(cut_at__gte=message.cut_at)
    return chat.messages.filter(shown, position__lt=message.position).order_by("position")


@dataclass(frozen=True, slots=True)
class Branches:
    """The `latest` chats that go on from one, and whether there are `more`."""

    latest: Sequence[Chat]
    more: bool


def branches_of(chat: Chat) -> Branches:
    found = list(chat.branches.order_by("-id")[: LISTED + 1])
    return Branches(found[:LISTED], len(found) > LISTED)
