"""`manage.py serve` with a kill waiting at every write point: `python -m tests.proofs.crash.launcher PORT`.

The control file names the point that kills; without it, none does.

A lease is as long as ever, or CRASH_LEASE seconds: the next server on a host frees those of a killed one at once, and on a busy
machine a shorter one would lapse while its server works.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta

import django
from django.core.management import call_command

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitlsite.settings")
django.setup()

from approvals.outbound import outbox  # noqa: E402 - models need the registry
from chats.actions import locking  # noqa: E402
from chats.engine import ledger  # noqa: E402
from tests.proofs.crash.agents import LEASE  # noqa: E402
from tests.proofs.crash.points import ANSWERED, NESTED, POINTS, REPEATABLE  # noqa: E402


def main(port: str) -> None:
    if lease := os.environ.get(LEASE):
        locking.LEASE, ledger.RENEW_EVERY = timedelta(seconds=float(lease)), timedelta(seconds=float(lease) / 4)
    outbox.CLAIM = timedelta(seconds=1)
    for point, install in (POINTS | NESTED | REPEATABLE | ANSWERED).items():
        install(point)
    call_command("serve", port=int(port), skip_checks=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
