"""System checks of the desk: event handlers and append-only triggers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext as _

from approvals.db import append_only
from approvals.outbound import outbox


def check_event_handlers(**kwargs: Any) -> list[CheckMessage]:
    """Check that every event handler can be imported."""
    errors: list[CheckMessage] = []
    for path in settings.HITL_EVENT_HANDLERS:
        try:
            outbox.load_handler(path)
        except (ImportError, TypeError) as error:
            errors.append(Error(f"HITL_EVENT_HANDLERS: {error}", id="approvals.E002"))
    return errors


def check_triggers(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the append-only triggers exist and are not switched off."""
    errors: list[CheckMessage] = []
    for alias in databases or []:
        errors += check_switch(connections[alias])
        for trigger in append_only.missing_triggers(connections[alias]):
            hint = _("Run `manage.py migrate` to restore the triggers, then `manage.py audit check`.")
            errors.append(
                Error(
                    _("The trigger %(trigger)s is missing, so protected rows can be changed.") % {"trigger": trigger},
                    hint=hint,
                    id="approvals.E001",
                )
            )
    return errors


def check_switch(connection: BaseDatabaseWrapper) -> list[Error]:
    """Check that the append-only triggers of a database are not switched off."""
    if append_only.SWITCH not in connection.introspection.table_names():
        return []
    if not append_only.find_switch_rows(connection):
        return []
    hint = _(
        "Find out how the row got there. Run `manage.py migrate --skip-checks` to remove it, then `manage.py audit check`."
    )
    return [Error(f"{append_only.switch_warning()}.", hint=hint, id="approvals.E003")]
