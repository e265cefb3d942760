"""`python -m tests.proofs.team.quiet_worker`: `manage.py worker`, but the outbox keeps its rows, to be counted."""

from __future__ import annotations

import os

import django
from django.core.management import call_command

if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "hitlsite.settings"
    django.setup()
    from approvals.background import sweep

    sweep._duties[:] = [
        duty for duty in sweep._duties if duty.run.__module__ in {"approvals.background.sweep", "chats.engine.sweep"}
    ]
    call_command("worker", skip_checks=True)
