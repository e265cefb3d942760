"""System checks: what is configured by halves is said aloud, before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.db import connections
from django.utils.translation import gettext as _

from approvals.outbound import outbox
from approvals.runtime import append_only


def check_event_handlers(**kwargs: Any) -> list[CheckMessage]:
    """Every event handler can be loaded."""
    found: list[CheckMessage] = []
    for path in settings.HITL_EVENT_HANDLERS:
        try:
            outbox.handler_at(path)
        except (ImportError, TypeError) as error:
            found.append(Error(f"HITL_EVENT_HANDLERS: {error}", id="approvals.E002"))
    return found


def check_triggers(*, databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """The append-only triggers are in place, and nothing switches them off."""
    found: list[CheckMessage] = []
    for alias in databases or []:
        if append_only.SWITCH in connections[alias].introspection.table_names() and append_only.left_on(
            connections[alias]
        ):
            hint = _(
                "Find out how the row got there. Run `manage.py migrate --skip-checks` to remove it, "
                "then `manage.py audit check`."
            )
            found.append(Error(f"{append_only.about_left_on()}.", hint=hint, id="approvals.E003"))
        for trigger in append_only.missing(connections[alias]):
            hint = _("Run `manage.py migrate --skip-checks` to restore the triggers.")
            found.append(
                Error(
                    _("The trigger %(trigger)s is missing, so protected rows can be changed.") % {"trigger": trigger},
                    hint=hint,
                    id="approvals.E001",
                )
            )
    return found
