"""What is old enough to go: the streams of ended turns, and what was said in chats that nobody has used for long.

Each call writes one bounded batch in one transaction, so that it can run beside servers and go on where it was killed.
Requests, decisions and the record stay, and so does the chat's own row: its addresses say what became of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from approvals.models import ApprovalRequest
from approvals.record import audit
from approvals.runtime import append_only
from approvals.runtime.canonical import utc
from approvals.states import Door, Status
from chats.models import Chat, Message, Step, ToolCall, Turn, TurnCheckpoint, TurnEvent
from chats.states import UNFINISHED

#: Rows of one transaction; on SQLite others wait so long to write.
BATCH = 1000
TURNS = 50


def prune_events(before: Any) -> int:
    """Remove one batch of stream events of turns that ended before a moment (a time, or the database's own); how many went."""
    with transaction.atomic():
        # Who comes second to a row passes it by, so that many processes never wait for each other here.
        ended = turns_to_prune(before).order_by("ended_at", "pk")
        turns = list(ended.select_for_update(skip_locked=True).values_list("pk", flat=True)[:TURNS])
        removed = _remove(TurnEvent.objects.filter(turn__in=turns).order_by("turn", "seq")) if turns else 0
        if turns and removed < BATCH:
            Turn.objects.filter(pk__in=turns).update(events_pruned=True)
    return removed


def turns_to_prune(before: Any) -> QuerySet[Turn]:
    """Turns that ended before then and still have stream events."""
    return Turn.objects.filter(ended_at__lt=before, events_pruned=False)


def old_chats(before: datetime) -> QuerySet[Chat]:
    """Chats that people wrote in last before then, and in which nothing is under way, nor in their sub-agents'."""
    unfinished = Turn.objects.filter(state__in=UNFINISHED)
    return Chat.objects.filter(
        ~Exists(unfinished.filter(chat=OuterRef("pk"))),
        ~Exists(unfinished.filter(chat__root=OuterRef("pk"))),
        root=None,
        pruned_at=None,
        updated_at__lt=before,
    )


def half_pruned() -> QuerySet[Chat]:
    """Chats of which a killed run has left something; their own messages go last."""
    return Chat.objects.filter(Exists(Message.objects.filter(chat=OuterRef("pk"))), root=None, pruned_at__isnull=False)


def begin_pruning(chat_pk: int, before: datetime) -> bool:
    """Close a chat for good, with what will go on record; False if it is in use after all, or was closed before."""
    with transaction.atomic():
        chat = Chat.objects.select_for_update().filter(pk=chat_pk, root=None, pruned_at=None).first()
        if chat is None or chat.updated_at >= before or _under_way(chat):
            return False
        told = {"before": utc(before), **contents([chat.pk])}
        subject = audit.Subject(scope=chat.scope, thread_id=chat.public_id, agent=chat.agent)
        audit.record("retention.pruned", subject, data=told, actor=None, via=Door.SYSTEM)
        Chat.objects.filter(pk=chat.pk).update(pruned_at=timezone.now(), title="")
    return True


def contents(chat_pks: list[int]) -> dict[str, int]:
    """How many rows hang on these chats and their sub-agents', by the name of their model."""
    found: Counter[str] = Counter()
    for rows in _contents(chat_pks):
        found[str(rows.model._meta.model_name)] += rows.count()
    return dict(found)


def prune_contents(chat_pk: int) -> int:
    """Remove one batch of what was in a chat that `begin_pruning` has closed; 0 when nothing is left."""
    with append_only.maintenance(connection, "retention"):
        for rows in _contents([chat_pk]):
            if removed := _remove(rows):
                return removed
    return 0


def _under_way(chat: Chat) -> bool:
    family = Q(chat=chat.pk) | Q(chat__root=chat.pk)
    return (
        Turn.objects.filter(family, state__in=UNFINISHED).exists()
        or ApprovalRequest.objects.filter(scope=chat.scope, status=Status.PENDING).exists()
    )


def _contents(chat_pks: list[int]) -> Iterator[QuerySet[Any]]:
    """In the order in which they can go: what is referred to after what refers to it, the chats' own messages last."""
    family = list(Chat.objects.filter(Q(pk__in=chat_pks) | Q(root__in=chat_pks)).values_list("pk", flat=True))
    yield TurnEvent.objects.filter(turn__chat__in=family)
    yield TurnCheckpoint.objects.filter(chat_pk__in=family)
    yield ToolCall.objects.filter(chat__in=family)
    yield Step.objects.filter(turn__chat__in=family)
    # Those of sub-agents before the ones at the top, with which they would go.
    yield Turn.objects.filter(chat__in=family).order_by("-depth")
    yield Message.objects.filter(chat__in=set(family) - set(chat_pks))
    yield Chat.objects.filter(root__in=chat_pks)
    yield Message.objects.filter(chat__in=chat_pks)


def _remove(rows: QuerySet[Any]) -> int:
    """One batch of these rows, and how many they were."""
    ids = list(rows.values_list("pk", flat=True)[:BATCH])
    rows.model._default_manager.filter(pk__in=ids).delete()
    return len(ids)
