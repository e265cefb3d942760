"""Set up the desk app: triggers, sweep duties, checks and signals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_out
from django.core import checks
from django.db import connections
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _

from approvals.db import append_only
from approvals.live import doorbell

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.http import HttpRequest


class ApprovalsConfig(AppConfig):
    name = "approvals"
    verbose_name = _("Approvals")

    def ready(self) -> None:
        from django.contrib.auth.models import User

        from approvals import actions
        from approvals.access.usernames import validate_new_username
        from approvals.actions import attention, policy, recounting
        from approvals.actions.policy import absences, duty, following_up, scoping, undecidable
        from approvals.admin.labels import translate_labels
        from approvals.background import sweep
        from approvals.checks import check_event_handlers, check_triggers
        from approvals.models import Advice, AuditEntry, Decision, Grant, PolicyVersion, RequestComment
        from approvals.models.policy.grants import MAY_CHANGE
        from approvals.models.policy.rules import VERSION_MAY_CHANGE
        from approvals.outbound import notifications, outbox, webhooks
        from approvals.outbound.delivery_lanes import DeliveryLanes
        from approvals.queries.policy.conditions import due_grants
        from approvals.states import Channel

        translate_labels(self)
        # For every form of Django that makes a user, and `createsuperuser`.
        User._meta.get_field("username").validators.append(validate_new_username)
        append_only.protect(AuditEntry, may_change=frozenset({"retry_count", "last_seen_at"}))
        for model in (Decision, RequestComment, Advice):
            append_only.protect(model)
        append_only.protect(Grant, may_change=MAY_CHANGE)
        append_only.protect(PolicyVersion, may_change=VERSION_MAY_CHANGE)
        sweep.register(sweep.expire_due_requests, lambda now: [sweep.overdue(now)])
        sweep.register(sweep.free_lapsed_requests, lambda now: [sweep.lapsed(now)])
        sweep.register(sweep.free_lost_resumes, lambda now: [actions.lost_leases(now)])
        sweep.register(scoping.compare_earlier_requests, lambda now: [scoping.uncompared(), scoping.unfinished_walks()])
        sweep.register(undecidable.check_waiting_requests, lambda now: [undecidable.due_checks()])
        sweep.register(recounting.recount_votes, lambda now: [recounting.due_recounts()])
        sweep.register(sweep.erase_due_attachments, lambda now: [actions.due_attachments(now)])
        sweep.register(following_up.carry_out_follow_ups, lambda now: [following_up.due_follow_ups(now)])
        sweep.register(duty.read_due_calendars, lambda now: [duty.due_calendars(now)])
        sweep.register(absences.tell_of_changing_absences, lambda now: [absences.changing_absences(now)])
        sweep.register(policy.end_due_grants, lambda now: [due_grants(now)])
        sweep.register(attention.tell_of_floods, lambda now: [attention.new_requests(now)])
        sweep.register(attention.plant_checks, lambda now: [attention.switched_on(now)])
        sweep.register(outbox.deliver_due, lambda now: [outbox.due_events(now, Channel.HANDLER)])
        sweep.register(notifications.spread_due_notices, lambda now: [outbox.due_events(now, Channel.NOTICE)])
        lanes = DeliveryLanes(webhooks.due_jobs, notifications.due_jobs)
        by_lane = (Channel.WEBHOOK, *notifications.CHANNELS)
        sweep.register(lanes.deliver_due, lambda now: [outbox.due_events(now, *by_lane)])
        checks.register(check_event_handlers)
        checks.register(check_triggers, checks.Tags.database)
        user_logged_out.connect(close_pages, dispatch_uid="approvals.close_pages")
        connection_created.connect(append_only.enable_recursive_triggers, dispatch_uid="approvals.append_only")
        post_migrate.connect(install_triggers, dispatch_uid="approvals.append_only")
        # After `create_permissions` of Django, which is connected first.
        post_migrate.connect(make_roles, sender=self, dispatch_uid="approvals.roles")


def close_pages(request: HttpRequest, user: User | None, **_: Any) -> None:
    """On log-out, notify the user's open pages, which check whether their session has ended."""
    if user is not None:
        # Django sends the signal before it flushes the session; a page that checks at once must not find it.
        request.session.flush()
        doorbell.notify(doorbell.user_group(user.pk), {"type": "session.ended"})


def make_roles(using: str, apps: Any = None, **_: Any) -> None:
    """Make the ready-made roles, unless the migrations stop before their table."""
    from approvals.administration.people.actions.roles import create_roles

    if apps is None or any(model._meta.label == "approvals.Role" for model in apps.get_models()):
        create_roles(using)


def install_triggers(using: str, **_: Any) -> None:
    """Create the triggers after the migrations of every app: SQLite loses them when it rebuilds a table."""
    append_only.create_triggers(connections[using])
