"""Notifications of the chats over the channel layer: to pages, to runners of turns, and to followers of streams.

They carry ids only and may be lost. Workers take turns from a queue (Procrastinate, on PostgreSQL): a job only means that a turn
may be queued, and the row of the turn decides. A lost, repeated or late job does no harm: the turn has to be claimed, and each
worker's sweep finds turns without a job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from procrastinate.contrib.django import app

from approvals.live import doorbell
from approvals.live.listeners import listen

#: The groups of processes that run turns (they receive stops), and of processes that follow streams.
RUNNERS = "runners"
STREAMS = "streams"
#: The queue of Procrastinate, and the task in it.
QUEUE = "turns"
TASK = "chats.advance"

_on_queued: Callable[[int, bool], None] | None = None
_on_stop: Callable[[int], None] | None = None
_on_claimed: Callable[[Any], None] | None = None
_owner = ""


def chat_group(chat_pk: int) -> str:
    return f"chat.{chat_pk}"


def notify_chat(chat_pk: int) -> None:
    """Notify the pages of a chat of a change."""
    doorbell.notify({chat_group(chat_pk)}, {"type": "chat.changed"})


def set_handlers(
    *,
    on_queued: Callable[[int, bool], None] | None,
    on_stop: Callable[[int], None] | None,
    on_claimed: Callable[[Any], None] | None = None,
    owner: str = "",
) -> None:
    """Set the functions that run turns in this process; None if it runs none, and then another process's sweep finds them.

    `on_claimed` gets a run that was begun under the name `owner`.
    """
    global _on_queued, _on_stop, _on_claimed, _owner
    _on_queued = on_queued
    _on_stop = on_stop
    _on_claimed = on_claimed
    _owner = owner if on_claimed is not None else ""


def claims_as() -> str:
    """Return the name under which this process's threads may claim turns for it to run; "" if it runs none."""
    return "" if has_workers() else _owner


def notify_claimed(begun: Any) -> bool:
    """Let this process continue a run begun by one of its threads; return False if it no longer runs turns."""
    if _on_claimed is None:
        return False
    _on_claimed(begun)
    return True


def notify_queued(turn_id: int, *, below: bool = False) -> None:
    """Notify this process that a turn is queued; `below`: it is a sub-agent's, for which another turn waits."""
    if _on_queued is not None:
        _on_queued(turn_id, below)


def notify_stop(turn_id: int) -> None:
    """Notify the process that runs a turn to stop it."""
    if _on_stop is not None:
        _on_stop(turn_id)
    else:
        doorbell.notify({RUNNERS}, {"type": "turn.stop", "turn": turn_id})


async def listen_for_stops() -> None:
    """Pass stops from other processes on to this one, until cancelled."""

    def on_message(message: Mapping[str, Any]) -> None:
        if _on_stop is not None:
            _on_stop(message["turn"])

    await listen([RUNNERS], on_message)


def has_workers() -> bool:
    """Return whether workers run the turns, not the process that serves pages."""
    return bool(settings.HITL_DISPATCH == "workers")


def enqueue(turn_id: int) -> None:
    """Queue a job for a turn, in the open transaction."""
    app.configure_task(TASK, queue=QUEUE).defer(turn_id=turn_id)
