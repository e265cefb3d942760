"""Two actions in one commit, where nothing may happen between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.db import transaction

from chats.actions.keeping import Recorded


def in_one_commit(step: Callable[[], None], rest: Callable[[], Sequence[Recorded]]) -> Sequence[Recorded]:
    """Store a step, and the pause or the end that follows from it; gives what `rest` gives.

    A step without a call to run has nothing to be protected from: on its own it would cost one more wait for the disk in
    each cycle, and open a state that only a crash can leave behind. Raises what either raises, and then neither is stored.
    """
    with transaction.atomic():
        step()
        return rest()
