"""Group names of chat pages, and the bells for those who run turns and those who follow them. Ids only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from approvals.live import doorbell
from approvals.live.listeners import hear

#: Processes that run turns listen here for stops, and processes that serve streams for what others have stored.
RUNNERS, STREAMS = "runners", "streams"

_on_work: Callable[[int, bool], None] | None = None
_on_stop: Callable[[int], None] | None = None


def chat_group(chat_pk: int) -> str:
    return f"chat.{chat_pk}"


def ring_chat(chat_pk: int) -> None:
    """Something in the chat changed; its pages re-read."""
    doorbell.ring(chat_group(chat_pk), {"type": "chat.changed"})


def answer_with(*, on_work: Callable[[int, bool], None] | None, on_stop: Callable[[int], None] | None) -> None:
    """Name who runs turns in this process; None when nobody does (the sweep of another process will find them)."""
    global _on_work, _on_stop
    _on_work, _on_stop = on_work, on_stop


def ring_work(turn_id: int, *, below: bool = False) -> None:
    """A turn is queued; one `below` another is a sub-agent's, for which the other waits in its place."""
    if _on_work is not None:
        _on_work(turn_id, below)


def ring_stop(turn_id: int) -> None:
    """A running turn is to be cut short, by whichever process runs it."""
    if _on_stop is not None:
        _on_stop(turn_id)
    else:
        doorbell.ring(RUNNERS, {"type": "turn.stop", "turn": turn_id})


async def hear_stops() -> None:
    """Pass on what other processes want stopped here; until cancelled."""

    def heard(message: Mapping[str, Any]) -> None:
        if _on_stop is not None:
            _on_stop(message["turn"])

    await hear(RUNNERS, heard)
