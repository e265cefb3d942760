"""Start-up of the chats."""

from __future__ import annotations

from django.apps import AppConfig
from django.core import checks
from django.utils.translation import gettext_lazy as _

from approvals import signals
from approvals.db import append_only


class ChatsConfig(AppConfig):
    name = "chats"
    verbose_name = _("Chats")

    def ready(self) -> None:
        from approvals.admin.labels import translate_labels
        from approvals.background import sweep
        from chats.checks import check_agents
        from chats.engine import jobs
        from chats.engine import sweep as chat_sweep
        from chats.models import TurnCheckpoint

        translate_labels(self)
        append_only.protect(TurnCheckpoint)
        signals.decided.connect(jobs.on_decided, dispatch_uid="chats.on_decided")
        sweep.register(
            chat_sweep.wake_stuck_turns, lambda now: [chat_sweep.stuck_turns(now)]
        )
        sweep.register(
            chat_sweep.resume_answered_turns,
            lambda now: [chat_sweep.answered_workflows()],
        )
        sweep.register(
            chat_sweep.resume_nested_turns, lambda now: chat_sweep.answered_nested()
        )
        sweep.register(
            chat_sweep.prune_old_events,
            lambda now: [chat_sweep.turns_with_old_events(now)],
        )
        checks.register(check_agents)
