"""`tests.proofs.team.launcher` for odd processes: with a wrong clock (CLOCK_AHEAD, in seconds), or frozen in a transaction.

It freezes at the point that the file FREEZE_FILE names, once; the server ends its session after two seconds instead of ten.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from tests.proofs.team import launcher

from chats.actions import calling, delegating, stepping, turn_ends  # isort: skip - models need the launcher's set-up
from hitlsite.server import timeouts  # isort: skip

FREEZE = "FREEZE_FILE"
#: Seconds in which a process stops surely.
STOPPING = 1.0
#: Each is inside a transaction of a worker's.
POINTS: dict[str, tuple[Any, str]] = {
    "step": (stepping, "store"),
    "pause": (stepping, "suspend"),
    "result": (calling, "result_event"),
    "settling": (delegating, "_output"),
    "end": (turn_ends, "write_together"),
}


def freeze_behind(point: str, owner: Any, name: str) -> None:
    work, file = getattr(owner, name), Path(os.environ[FREEZE])

    def run(*args: Any, **kwargs: Any) -> Any:
        result = work(*args, **kwargs)
        if file.exists() and file.read_text() == point:
            file.unlink()
            os.kill(os.getpid(), signal.SIGSTOP)
            # The call may return before the kernel has stopped this thread, which must not reach the commit.
            threading.Event().wait(STOPPING)
        return result

    setattr(owner, name, run)


def main(*words: str) -> None:
    if ahead := float(os.environ.get("CLOCK_AHEAD", "0")):
        right = timezone.now
        timezone.now = lambda: right() + timedelta(seconds=ahead)
    if FREEZE in os.environ:
        timeouts.WORK = replace(timeouts.WORK, idle_in_transaction_session_timeout=2_000)
        for point, (owner, name) in POINTS.items():
            freeze_behind(point, owner, name)
    launcher.main(*words)


if __name__ == "__main__":
    main(*sys.argv[1:])
