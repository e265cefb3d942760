"""Receivers of the signals of `approvals`."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Q, UUIDField

from approvals.db import pool
from approvals.db.prepared import Parameter, Prepared
from approvals.states import PROGRAMS, Door
from chats import actions
from chats.models import ToolCall
from chats.states import TurnState

_REQUEST = Parameter("request", UUIDField())
#: The suspended turns whose calls asked a request.
_ASKED: Prepared[int] = Prepared(
    lambda: ToolCall.objects.filter(
        Q(approval=_REQUEST) | Q(recovery=_REQUEST), turn__state=TurnState.SUSPENDED
    ).values_list("turn", flat=True)
)


def on_decided(sender: object, *, request_id: UUID, source: str, via: str, **_: Any) -> None:
    """Resume the turn that asked a request which has ended, unless it waits for others.

    `actions.take_answers` continues the turn that it answers itself. A turn that cannot be resumed now, because the database is
    away or its row stays locked, is resumed by the sweep.
    """
    if source in PROGRAMS or via == Door.AI_SDK:
        return
    try:
        _resume_turns(request_id, via)
    except pool.AWAY as error:
        pool.record_failure(error)


def _resume_turns(request_id: UUID, via: str) -> None:
    for turn_id in _ASKED.all(request=request_id):
        # What is cancelled with a run that stops comes here too, before or after the request that has expired.
        if via != Door.DEADLINE or not actions.halt_turn(turn_id):
            actions.wake_turn(turn_id)
