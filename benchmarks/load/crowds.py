"""Many conversations that wait for people, in seconds: one that has really paused, copied row by row in bulk."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.db import transaction
from django.db.models import Model
from django.utils import timezone

from approvals.models import ApprovalRequest, Workflow
from chats.models import Chat, Message, Step, ToolCall, Turn, TurnCheckpoint, TurnEvent

BATCH = 1000


def copy_of(row: Model, **changes: Any) -> Any:
    """A row like this one, not stored yet."""
    values = {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
    }
    values.pop(row._meta.pk.attname)
    for name in changes:
        values.pop(f"{name}_id", None)
    return type(row)(**values | changes)


def suspend_more(number: int, *, with_record: bool = False) -> None:
    """So many more conversations that wait like the last one; `with_record`: with checkpoints and stream events too."""
    turn = Turn.objects.select_related("chat").filter(state="suspended").latest("pk")
    for start in range(0, number, BATCH):
        with transaction.atomic():
            _copy(turn, min(BATCH, number - start), with_record)


def _copy(turn: Turn, number: int, with_record: bool) -> None:
    now, call = timezone.now(), turn.tool_calls.get()
    asked = ApprovalRequest.objects.select_related("workflow").get(pk=call.approval_id)
    chats = Chat.objects.bulk_create(
        copy_of(turn.chat, public_id=uuid4().hex, updated_at=now) for _ in range(number)
    )
    turns = Turn.objects.bulk_create(
        copy_of(turn, chat=chat, run_id=uuid4()) for chat in chats
    )
    steps = Step.objects.bulk_create(
        copy_of(turn.steps.get(), turn=new) for new in turns
    )
    for message in turn.chat.messages.order_by("position"):
        Message.objects.bulk_create(copy_of(message, chat=chat) for chat in chats)
    workflows = Workflow.objects.bulk_create(
        copy_of(
            asked.workflow, scope=new.chat.scope, key=str(new.run_id), suspended_at=now
        )
        for new in turns
    )
    requests = ApprovalRequest.objects.bulk_create(
        copy_of(
            asked,
            id=uuid4(),
            workflow=workflow,
            scope=workflow.scope,
            created_at=now,
            changed_at=now,
        )
        for workflow in workflows
    )
    ToolCall.objects.bulk_create(
        copy_of(call, chat=new.chat, turn=new, step=step, approval=request)
        for new, step, request in zip(turns, steps, requests, strict=True)
    )
    if with_record:
        partial = TurnCheckpoint.objects.get(turn_pk=turn.pk)
        TurnCheckpoint.objects.bulk_create(
            copy_of(partial, chat_pk=new.chat_id, turn_pk=new.pk, run_id=new.run_id)
            for new in turns
        )
        for event in TurnEvent.objects.filter(turn=turn):
            TurnEvent.objects.bulk_create(copy_of(event, turn=new) for new in turns)


SCRIPT = "from benchmarks.load.crowds import suspend_more; suspend_more({number}, with_record={with_record})"
