"""Set up the app: triggers, duties of the sweep, checks and signals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_out
from django.core import checks
from django.db import connections
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

        from approvals.access.usernames import validate_new_username
        from approvals.admin.labels import translate_labels
        from approvals.administration.keys.actions import (
            keys_to_warn_of,
            warn_of_expiring_keys,
        )
        from approvals.background import sweep
        from approvals.background.duties import register_duties
        from approvals.channels import duties as channels
        from approvals.checks import (
            check_event_handlers,
            check_first_version,
            check_triggers,
        )

        translate_labels(self)
        # For all of Django's forms that create users, and `createsuperuser`.
        User._meta.get_field("username").validators.append(validate_new_username)
        protect_records()
        register_duties()
        channels.register_duties()
        sweep.register(warn_of_expiring_keys, lambda now: [keys_to_warn_of(now)])
        checks.register(check_event_handlers)
        checks.register(check_first_version, checks.Tags.database)
        checks.register(check_triggers, checks.Tags.database)
        user_logged_out.connect(close_pages, dispatch_uid="approvals.close_pages")
        post_migrate.connect(install_triggers, dispatch_uid="approvals.append_only")
        # After Django's `create_permissions`, which is connected first.
        post_migrate.connect(make_roles, sender=self, dispatch_uid="approvals.roles")


def protect_records() -> None:
    """Name the tables whose rows stay as they were written, apart from some columns."""
    from approvals import models
    from approvals.models.policy.grants import MAY_CHANGE
    from approvals.models.policy.rules import VERSION_MAY_CHANGE

    of_entries = frozenset({"retry_count", "last_seen_at"})
    append_only.protect(models.AuditEntry, may_change=of_entries)
    append_only.protect(models.Decision)
    append_only.protect(models.RequestComment)
    append_only.protect(models.Advice)
    append_only.protect(models.Grant, may_change=MAY_CHANGE)
    append_only.protect(models.PolicyVersion, may_change=VERSION_MAY_CHANGE)


def close_pages(request: HttpRequest, user: User | None, **_: Any) -> None:
    """On log-out, notify the user's open pages, which check whether their session has ended."""
    if user is not None:
        # Django sends the signal before it flushes the session; a page that checks at once must not find it.
        request.session.flush()
        doorbell.notify({doorbell.user_group(user.pk)}, {"type": "session.ended"})


def make_roles(using: str, apps: Any = None, **_: Any) -> None:
    """Create the built-in roles, unless the migrations stop before their table."""
    from approvals.administration.people.actions.roles import create_roles

    models = () if apps is None else apps.get_models()
    if apps is None or any(model._meta.label == "approvals.Role" for model in models):
        create_roles(using)


def install_triggers(using: str, **_: Any) -> None:
    """Create the triggers after the migrations of every app: SQLite loses them when it rebuilds a table."""
    append_only.create_triggers(connections[using])
