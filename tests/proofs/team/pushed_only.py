"""`python -m tests.proofs.team.pushed_only PORT`: `manage.py serve` that never looks at rows again by the clock.

All data in its pages, streams and long polls was pushed.
"""

from __future__ import annotations

import os
import sys

import django
from django.core.management import call_command

NEVER = 1e6

if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "hitlsite.settings"
    django.setup()
    from approvals.api.agentforge import followers
    from approvals.background import waiting_room
    from approvals.live import liveness
    from chats.engine import streams

    liveness.POLL = waiting_room.POLL = streams.POLL = followers.POLL = NEVER
    call_command("serve", port=int(sys.argv[1]), skip_checks=True)
