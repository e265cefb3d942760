"""Make branches with the real action, and read all rows to see that none has changed."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User

from approvals.models import ApprovalRequest, AuditEntry, Decision, Workflow
from approvals.states import Door
from chats import actions
from chats.agent import registry
from chats.models import Chat, Message, Step, ToolCall, Turn, TurnCheckpoint

TABLES = (
    Chat,
    Message,
    Turn,
    Step,
    ToolCall,
    TurnCheckpoint,
    Workflow,
    ApprovalRequest,
    Decision,
    AuditEntry,
)


def checkpoints(turn: Turn) -> Any:
    return TurnCheckpoint.objects.filter(turn_pk=turn.pk).order_by("ordinal")


def branch(turn: Turn, ordinal: int, *, by: User | None = None, token: str | None = None) -> Chat:
    """Return a new chat from the turn's checkpoint with that ordinal."""
    chat = Chat.objects.get(pk=turn.chat_id)
    return actions.branch_chat(
        chat,
        checkpoints(turn)[ordinal],
        by=by or chat.owner,
        agent=registry.get(settings.HITL_AGENTS, chat.agent),
        token=uuid4().hex if token is None else token,
        via=Door.CHAT,
    )


def rows() -> dict[str, dict[Any, str]]:
    """Return every row of both apps as text, by table and primary key."""
    return {table.__name__: {row["id"]: repr(row) for row in table.objects.values()} for table in TABLES}
