"""`manage.py serve` and `worker` with a kill waiting at every write point: `python -m tests.proofs.team.launcher COMMAND ...`.

The control file names the point that kills; without it, none does. The lease is SHORT_LEASE seconds
instead of fifteen, where that is set; a Redis that is only slow, on a machine that is, is given PULSE_PATIENCE seconds.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta

import django
from django.core.management import execute_from_command_line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitlsite.settings")
django.setup()

from approvals.live import liveness  # noqa: E402 - models need the registry
from approvals.outbound import outbox  # noqa: E402 - models need the registry
from chats.actions import locking  # noqa: E402
from chats.engine import ledger  # noqa: E402
from tests.proofs.team.points import WEB, WORKER  # noqa: E402
from tests.proofs.team.reciter import hold_where_told  # noqa: E402


def main(*words: str) -> None:
    if lease := os.environ.get("SHORT_LEASE"):
        locking.LEASE, ledger.RENEW_EVERY = timedelta(seconds=float(lease)), timedelta(seconds=float(lease) / 4)
        outbox.CLAIM = timedelta(seconds=float(lease))
    if patience := os.environ.get("PULSE_PATIENCE"):
        liveness.TIMEOUT = float(patience)
    hold_where_told()
    for point, install in (WEB | WORKER).items():
        install(point)
    execute_from_command_line(["manage.py", *words])


if __name__ == "__main__":
    main(*sys.argv[1:])
