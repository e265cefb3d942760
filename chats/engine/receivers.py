"""Receivers of the signals of `approvals`."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Q

from approvals.states import ASK_HUMAN, CLIENT
from chats import actions
from chats.models import ToolCall


def on_decided(sender: object, *, request_id: UUID, source: str, **_: Any) -> None:
    """Resume the turn that asked a request which has ended, unless it waits for others."""
    if source in {CLIENT, ASK_HUMAN}:
        return
    asked = ToolCall.objects.filter(Q(approval=request_id) | Q(recovery=request_id))
    for turn_id in asked.values_list("turn", flat=True):
        actions.resume_turn(turn_id)
