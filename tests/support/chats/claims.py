"""Claim turns in tests."""

from __future__ import annotations

from django.db import transaction

from chats.actions import claiming
from chats.actions.locking import Claim, locked_turn
from chats.actions.writes import store
from chats.models import Turn


def claim_turn(turn_id: int, *, owner: str) -> tuple[Claim, Turn, int] | None:
    """Claim a turn as `actions.begin_run` does, and start none of its calls; None if another runner has it.

    Return the claim, the turn, and the last `seq` of its stream.
    """
    with transaction.atomic():
        free = claiming._FREE.first(pk=turn_id)
        if free is None:
            return None
        locked = locked_turn(free)
        last, claim = claiming._claim(locked, owner)
        store(locked, also=[claim])
        return locked.claim(), locked.turn, last
