"""Retention: remove the stream events of ended turns, and the contents of chats not used for a long time.

Each call removes one bounded batch in one transaction, so that it can run beside servers and be continued after a kill. Requests,
decisions and audit entries stay, and so does the row of the chat, whose pages say that it was removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from approvals.db import append_only
from approvals.db.canonical_json import utc
from approvals.models import ApprovalRequest
from approvals.record import audit
from approvals.states import Door, Status
from chats.models import (
    Attachment,
    Chat,
    Message,
    Step,
    ToolCall,
    Turn,
    TurnCheckpoint,
    TurnEvent,
)
from chats.states import UNFINISHED

#: Rows in one transaction. On SQLite, all other writers wait for it.
BATCH = 1000
TURNS = 50


def prune_events(before: Any) -> int:
    """Remove one batch of stream events of turns that ended before a time (or database expression); return the number."""
    with transaction.atomic():
        # Skip turns that another process is pruning.
        ended = turns_to_prune(before).order_by("ended_at", "pk")
        turns = list(
            ended.select_for_update(skip_locked=True).values_list("pk", flat=True)[
                :TURNS
            ]
        )
        removed = (
            _remove(TurnEvent.objects.filter(turn__in=turns).order_by("turn", "seq"))
            if turns
            else 0
        )
        if turns and removed < BATCH:
            Turn.objects.filter(pk__in=turns).update(events_pruned=True)
    return removed


def turns_to_prune(before: Any) -> QuerySet[Turn]:
    """Return turns that ended before a time and still have stream events."""
    return Turn.objects.filter(ended_at__lt=before, events_pruned=False)


def old_chats(before: datetime) -> QuerySet[Chat]:
    """Return chats last used before a time, without an unfinished turn in them or in their sub-agents' chats."""
    unfinished = Turn.objects.filter(state__in=UNFINISHED)
    return Chat.objects.filter(
        ~Exists(unfinished.filter(chat=OuterRef("pk"))),
        ~Exists(unfinished.filter(chat__root=OuterRef("pk"))),
        root=None,
        pruned_at=None,
        updated_at__lt=before,
    )


def partly_pruned_chats() -> QuerySet[Chat]:
    """Return pruned chats that a killed run left incomplete: they still have messages, which are removed last."""
    return Chat.objects.filter(
        Exists(Message.objects.filter(chat=OuterRef("pk"))),
        root=None,
        pruned_at__isnull=False,
    )


def begin_pruning(chat_pk: int, before: datetime) -> bool:
    """Mark a chat as pruned and record the rows to be removed; return False if it is in use, or was already pruned."""
    with transaction.atomic():
        chat = (
            Chat.objects.select_for_update()
            .filter(pk=chat_pk, root=None, pruned_at=None)
            .first()
        )
        if chat is None or chat.updated_at >= before or _in_use(chat):
            return False
        removed = {"before": utc(before), **count_contents([chat.pk])}
        subject = audit.Subject(
            scope=chat.scope, thread_id=chat.public_id, agent=chat.agent
        )
        audit.record(
            "retention.pruned", subject, data=removed, actor=None, via=Door.SYSTEM
        )
        Chat.objects.filter(pk=chat.pk).update(pruned_at=timezone.now(), title="")
    return True


def count_contents(chat_pks: list[int]) -> dict[str, int]:
    """Return the number of rows of these chats and their sub-agents', by model name."""
    counts: Counter[str] = Counter()
    for rows in _contents(chat_pks):
        counts[str(rows.model._meta.model_name)] += rows.count()
    return dict(counts)


def prune_contents(chat_pk: int) -> int:
    """Remove one batch of rows of a chat marked by `begin_pruning`; return their number, 0 when none is left."""
    with append_only.maintenance(connection, "retention"):
        for rows in _contents([chat_pk]):
            if removed := _remove(rows):
                return removed
    return 0


def _in_use(chat: Chat) -> bool:
    family = Q(chat=chat.pk) | Q(chat__root=chat.pk)
    return (
        Turn.objects.filter(family, state__in=UNFINISHED).exists()
        or ApprovalRequest.objects.filter(
            scope=chat.scope, status=Status.PENDING
        ).exists()
    )


def _contents(chat_pks: list[int]) -> Iterator[QuerySet[Any]]:
    """Yield the rows of these chats in an order that foreign keys allow, the chats' own messages last."""
    family = list(
        Chat.objects.filter(Q(pk__in=chat_pks) | Q(root__in=chat_pks)).values_list(
            "pk", flat=True
        )
    )
    yield TurnEvent.objects.filter(turn__chat__in=family)
    yield Attachment.objects.filter(chat__in=family)
    yield TurnCheckpoint.objects.filter(chat_pk__in=family)
    yield ToolCall.objects.filter(chat__in=family)
    yield Step.objects.filter(turn__chat__in=family)
    # Sub-agents' turns first: deleting a top turn would cascade to them.
    yield Turn.objects.filter(chat__in=family).order_by("-depth")
    yield Message.objects.filter(chat__in=set(family) - set(chat_pks))
    yield Chat.objects.filter(root__in=chat_pks)
    yield Message.objects.filter(chat__in=chat_pks)


def _remove(rows: QuerySet[Any]) -> int:
    """Delete one batch of these rows; return the number."""
    ids = list(rows.values_list("pk", flat=True)[:BATCH])
    rows.model._default_manager.filter(pk__in=ids).delete()
    return len(ids)
