"""Chats, their turns and everything in them. Only `chats.actions` writes rows.

A foreign key has no index of its own where another index begins with it.
"""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from approvals.db.fields import ExactJSONField
from approvals.models import ApprovalRequest
from approvals.models.keys import MAX_ACTOR_NAME
from chats.states import (
    CHAT,
    UNFINISHED,
    CallState,
    CheckpointKind,
    FinishReason,
    TurnState,
)


class Chat(models.Model):
    """A conversation of one person with one agent. `public_id` is any text chosen by a client, unique per owner."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="chats",
        db_index=False,
    )
    public_id = models.CharField(max_length=200)
    agent = models.CharField(max_length=100)
    title = models.CharField(max_length=200, blank=True)
    #: The top chat, if this is a sub-agent's chat.
    root = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, related_name="+"
    )
    #: For a branch: the original chat, the id of the checkpoint, and a token that makes a double click one branch.
    branched_from = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, related_name="branches"
    )
    branched_at = models.BigIntegerField(null=True)
    branch_token = models.CharField(max_length=32, null=True)  # noqa: DJ001 - null means "no branch"; nulls never collide
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    #: When retention removed the contents. The row stays, so that its pages can say so.
    pruned_at = models.DateTimeField(null=True)
    #: The creator of the key that last wrote in it, if not the owner: they count as a requester of its calls.
    key_made_by_id = models.BigIntegerField(null=True)
    #: The state of its last turn, annotated by `queries.filtered_chats_for`.
    state: str | None = None

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["owner", "public_id"], name="chat_public_id"
            ),
            models.UniqueConstraint(
                fields=["owner", "branch_token"], name="chat_branch_token"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["owner", "-updated_at", "-id"], name="chat_recent"),
            models.Index(fields=["-updated_at", "-id"], name="chat_recent_all"),
        ]

    def __str__(self) -> str:
        return (
            gettext("Deleted chat") if self.pruned_at else self.title or self.public_id
        )

    def get_absolute_url(self) -> str:
        return reverse("chats:chat", args=[self.pk])

    @property
    def shown(self) -> models.QuerySet[Message]:
        """The messages that no edit or regeneration has removed."""
        return self.messages.filter(cut_at=None)

    @property
    def scope(self) -> str:
        """The namespace of this chat's tool call ids in requests and the audit log; sub-agents' chats share that of the top."""
        return f"chat:{self.root_id or self.pk}"


class Message(models.Model):
    """One message in browser form: AI SDK UIMessage parts. The assistant's messages are projections of their steps.

    While its turn is unfinished, no parts are stored; `queries.last_messages` makes them.
    """

    chat = models.ForeignKey(
        Chat, on_delete=models.CASCADE, related_name="messages", db_index=False
    )
    message_id = models.CharField(max_length=200)
    role = models.CharField(
        max_length=10, choices=[("user", "User"), ("assistant", "Assistant")]
    )
    parts = ExactJSONField(default=list)
    #: For a user's message, the client's own data; for an answer, data for clients (`queries.usage.message_metadata`). Null
    #: without any. The model does not see it.
    metadata = ExactJSONField(null=True)
    position = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=timezone.now)
    #: When an edit or a regeneration removed it from the conversation; the row stays.
    cut_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["chat", "message_id"],
                condition=Q(cut_at__isnull=True),
                name="message_id_shown_in_chat",
            ),
            models.UniqueConstraint(
                fields=["chat", "position"], name="message_position"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["chat", "created_at", "id"], name="message_when")
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.message_id}"


class Turn(models.Model):
    """One answer of the agent, across all its pauses. The row is the job, with its lease and fencing number."""

    chat = models.ForeignKey(
        Chat, on_delete=models.CASCADE, related_name="turns", db_index=False
    )
    run_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    message_id = models.CharField(max_length=200)
    agent = models.CharField(max_length=100)
    agent_version = models.CharField(max_length=50, blank=True)
    source = models.CharField(max_length=20, default=CHAT)
    state = models.CharField(max_length=10, choices=TurnState, default=TurnState.QUEUED)
    finish_reason = models.CharField(max_length=15, choices=FinishReason, blank=True)
    #: Someone stopped it; a running turn ends at its next write.
    stopped = models.BooleanField(default=False)
    stopped_by = models.CharField(max_length=MAX_ACTOR_NAME, blank=True)
    #: The fencing number: each claim increments it, and a runner's writes fail once it has changed.
    attempt = models.PositiveIntegerField(default=0)
    #: Incremented by each transaction that locks the turn, so that a runner knows whether its copy is current.
    version = models.PositiveBigIntegerField(default=0)
    lease_owner = models.CharField(max_length=100, blank=True)
    lease_until = models.DateTimeField(null=True)
    usage = ExactJSONField(default=dict)
    #: The trace in which the client sent the message (`approvals.trace_context`), for the turn's requests; null without one.
    trace = ExactJSONField(null=True)
    error = models.TextField(blank=True)
    #: For a sub-agent's turn: the call that it carries out, the top turn, and the number of turns above it.
    parent_call = models.ForeignKey(
        "ToolCall", on_delete=models.SET_NULL, null=True, related_name="children"
    )
    root = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, related_name="+"
    )
    depth = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)
    #: Retention has removed its stream events.
    events_pruned = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["chat"],
                condition=Q(state__in=sorted(UNFINISHED)),
                name="one_unfinished_turn_per_chat",
            ),
            models.UniqueConstraint(fields=["chat", "message_id"], name="turn_message"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["state", "lease_until"],
                name="turn_due",
                condition=Q(state__in=sorted(UNFINISHED)),
            ),
            models.Index(
                fields=["ended_at"],
                name="turn_events_kept",
                condition=Q(ended_at__isnull=False, events_pruned=False),
            ),
            models.Index(
                fields=["root"],
                name="turn_nested_suspended",
                condition=Q(root__isnull=False, state=TurnState.SUSPENDED),
            ),
        ]

    def __str__(self) -> str:
        return f"turn {self.run_id}"

    @property
    def unfinished(self) -> bool:
        return self.state in UNFINISHED

    @property
    def top(self) -> Turn:
        """The top turn: this one, unless it is a sub-agent's. Its `run_id` is the key of the workflow."""
        return self.root or self


class Step(models.Model):
    """One answer of the model, with its blocks exactly as returned. The model's history is rebuilt from these."""

    turn = models.ForeignKey(
        Turn, on_delete=models.CASCADE, related_name="steps", db_index=False
    )
    index = models.PositiveIntegerField()
    blocks = ExactJSONField(default=list)
    provider = models.CharField(max_length=50)
    model = models.CharField(max_length=100, blank=True)
    stop_reason = models.CharField(max_length=50)
    #: The provider's reason for the end of the answer.
    stop_details = ExactJSONField(default=dict)
    #: The provider's own data, needed when this answer is sent back to it; see `ModelFinished.prefix`.
    prefix = models.CharField(max_length=100, blank=True)
    usage = ExactJSONField(default=dict)
    #: The reported origin; see `ModelFinished.answered_by`. `model` is the requested one.
    answered_by = ExactJSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["turn", "index"], name="step_index")
        ]

    def __str__(self) -> str:
        return f"step {self.index} of turn {self.turn_id}"


class ToolCall(models.Model):
    """One call of a tool by the model, with its one result."""

    chat = models.ForeignKey(
        Chat, on_delete=models.CASCADE, related_name="tool_calls", db_index=False
    )
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="tool_calls")
    step = models.ForeignKey(Step, on_delete=models.CASCADE, related_name="tool_calls")
    tool_call_id = models.CharField(max_length=200)
    name = models.CharField(max_length=100)
    input = ExactJSONField(default=dict)
    state = models.CharField(max_length=10, choices=CallState)
    #: The fencing number of one run; also the number of runs.
    attempt = models.PositiveIntegerField(default=0)
    approval = models.ForeignKey(
        ApprovalRequest, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    recovery = models.ForeignKey(
        ApprovalRequest,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        db_index=False,
    )
    output = ExactJSONField(null=True)
    error_text = models.TextField(blank=True)
    executed_digest = models.CharField(max_length=71, blank=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["chat", "tool_call_id"], name="tool_call_id_in_chat"
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["chat", "name"], name="tool_call_name"),
            models.Index(
                fields=["turn"],
                name="tool_call_delegated",
                condition=Q(state=CallState.DELEGATED),
            ),
            models.Index(fields=["chat", "finished_at", "id"], name="tool_call_when"),
            models.Index(
                fields=["recovery"],
                name="tool_call_recovery",
                condition=Q(recovery__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.tool_call_id}"


class TurnCheckpoint(models.Model):
    """The assistant's message as of a pause (`partial`) or the end (`final`); never changed.

    Stored as a difference from the previous checkpoint: its first `kept` parts, then `tail`. See `chats.checkpoints`.
    """

    chat_pk = models.BigIntegerField()
    turn_pk = models.BigIntegerField()
    run_id = models.UUIDField()
    message_id = models.CharField(max_length=200)
    ordinal = models.PositiveIntegerField()
    kind = models.CharField(max_length=7, choices=CheckpointKind)
    finish_reason = models.CharField(max_length=15, choices=FinishReason)
    stopped = models.BooleanField(default=False)
    error = models.TextField(blank=True)
    kept = models.PositiveIntegerField()
    tail = ExactJSONField(default=list)
    #: The digest of all parts, and the salt in it, which only programs of the owner read.
    digest = models.CharField(max_length=71)
    digest_salt = models.CharField(max_length=32, null=True)  # noqa: DJ001 - nullable, so no table is rebuilt
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["chat_pk", "message_id", "ordinal"], name="checkpoint_ordinal"
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["chat_pk", "created_at", "id"], name="checkpoint_when")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.ordinal} of {self.message_id}"


class TurnEvent(models.Model):
    """One event of a turn's stream, for followers that read it later; removed some time after the turn ends.

    Or several pieces of one text: `seq` is the number of the last, and `chunk` has their end offsets.
    """

    turn = models.ForeignKey(
        Turn, on_delete=models.CASCADE, related_name="events", db_index=False
    )
    seq = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField()
    step = models.PositiveIntegerField()
    chunk = ExactJSONField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["turn", "seq"], name="turn_event_seq")
        ]

    def __str__(self) -> str:
        return f"event {self.seq} of turn {self.turn_id}"
