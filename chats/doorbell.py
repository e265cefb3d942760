"""Notifications of the chats over the channel layer: to pages, to runners of turns, and to followers of streams.

They carry ids only and may be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from approvals.live import doorbell
from approvals.live.listeners import listen
from chats import queue

#: The groups of processes that run turns (they receive stops), and of processes that follow streams.
RUNNERS, STREAMS = "runners", "streams"

_on_queued: Callable[[int, bool], None] | None = None
_on_stop: Callable[[int], None] | None = None
_on_claimed: Callable[[Any], None] | None = None
_owner = ""


def chat_group(chat_pk: int) -> str:
    return f"chat.{chat_pk}"


def notify_chat(chat_pk: int) -> None:
    """Notify the pages of a chat that something in it changed."""
    doorbell.notify(chat_group(chat_pk), {"type": "chat.changed"})


def set_handlers(
    *,
    on_queued: Callable[[int, bool], None] | None,
    on_stop: Callable[[int], None] | None,
    on_claimed: Callable[[Any], None] | None = None,
    owner: str = "",
) -> None:
    """Set what runs turns in this process; None if nothing does, and then the sweep of another process finds them.

    `on_claimed` gets a run that was begun under the name `owner`.
    """
    global _on_queued, _on_stop, _on_claimed, _owner
    _on_queued, _on_stop, _on_claimed, _owner = on_queued, on_stop, on_claimed, owner if on_claimed is not None else ""


def claims_as() -> str:
    """Return the name under which the threads of this process may claim turns that it then runs; "" if it runs none."""
    return "" if queue.in_use() else _owner


def notify_claimed(begun: Any) -> bool:
    """Have this process go on with a run that one of its threads has begun; return False if it no longer runs turns."""
    if _on_claimed is None:
        return False
    _on_claimed(begun)
    return True


def notify_queued(turn_id: int, *, below: bool = False) -> None:
    """Notify this process that a turn is queued; `below` says that it is a sub-agent's, for which another turn waits."""
    if _on_queued is not None:
        _on_queued(turn_id, below)


def notify_stop(turn_id: int) -> None:
    """Notify the process that runs a turn that it is to be stopped."""
    if _on_stop is not None:
        _on_stop(turn_id)
    else:
        doorbell.notify(RUNNERS, {"type": "turn.stop", "turn": turn_id})


async def listen_for_stops() -> None:
    """Pass stops from other processes on to this one, until cancelled."""

    def on_message(message: Mapping[str, Any]) -> None:
        if _on_stop is not None:
            _on_stop(message["turn"])

    await listen([RUNNERS], on_message)
