"""Start-up of the desk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_out
from django.core import checks
from django.db import connections
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _

from approvals.live import doorbell
from approvals.runtime import append_only

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.http import HttpRequest


class ApprovalsConfig(AppConfig):
    name = "approvals"
    verbose_name = _("Approvals")

    def ready(self) -> None:
        from approvals.admin.labels import translate_labels
        from approvals.background import sweep
        from approvals.checks import check_event_handlers, check_triggers
        from approvals.models import AuditEntry, Decision
        from approvals.models.comments import RequestComment
        from approvals.outbound import notifications, outbox, webhooks
        from approvals.outbound.delivery_lanes import Couriers
        from approvals.states import Channel

        translate_labels(self)
        append_only.protect(AuditEntry, may_change=frozenset({"retry_count", "last_seen_at"}))
        append_only.protect(Decision)
        append_only.protect(RequestComment)
        sweep.register(sweep.expire_due_requests, lambda now: [sweep.overdue(now)])
        sweep.register(sweep.free_lapsed_requests, lambda now: [sweep.lapsed(now)])
        sweep.register(outbox.deliver_due, lambda now: [outbox.due(now, Channel.HANDLER)])
        sweep.register(notifications.spread_due, lambda now: [outbox.due(now, Channel.NOTICE)])
        couriers, by_courier = (
            Couriers(webhooks.due_jobs, notifications.due_jobs),
            (Channel.WEBHOOK, *notifications.CHANNELS),
        )
        sweep.register(couriers.deliver_due, lambda now: [outbox.due(now, *by_courier)])
        checks.register(check_event_handlers)
        checks.register(check_triggers, checks.Tags.database)
        user_logged_out.connect(close_pages, dispatch_uid="approvals.close_pages")
        connection_created.connect(append_only.guard, dispatch_uid="approvals.append_only")
        post_migrate.connect(install_triggers, dispatch_uid="approvals.append_only")


def close_pages(request: HttpRequest, user: User | None, **_: Any) -> None:
    """At a log-out: the user's open pages check whether it was theirs."""
    if user is not None:
        # The signal comes before the session goes; a page that looks at once must not find it any more.
        request.session.flush()
        doorbell.ring(doorbell.user_group(user.pk), {"type": "session.ended"})


def install_triggers(using: str, **_: Any) -> None:
    """After every app's migrations: SQLite loses triggers when it rebuilds a table."""
    append_only.install(connections[using])
