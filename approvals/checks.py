"""System checks: event handlers, append-only triggers, and databases older than the first version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext as _

from approvals.db import append_only
from approvals.db.first_version import problem_of_earlier_commit
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


def check_first_version(
    *, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Check that no database was made by a commit before 0.1.0."""
    problems = [
        problem_of_earlier_commit(connections[alias]) for alias in databases or []
    ]
    return [Error(problem, id="approvals.E004") for problem in problems if problem]


def check_triggers(
    *, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Check that the append-only triggers exist and are enabled."""
    errors: list[CheckMessage] = []
    for alias in databases or []:
        errors += check_switch(connections[alias])
        for trigger in append_only.missing_triggers(connections[alias]):
            hint = _(
                "Run `manage.py migrate` to restore the triggers, then `manage.py audit check`."
            )
            errors.append(
                Error(
                    _(
                        "The trigger %(trigger)s is missing, so protected rows can be changed."
                    )
                    % {"trigger": trigger},
                    hint=hint,
                    id="approvals.E001",
                )
            )
    return errors


def check_switch(connection: BaseDatabaseWrapper) -> list[Error]:
    """Check that a database's append-only triggers are not switched off."""
    if append_only.SWITCH not in connection.introspection.table_names():
        return []
    if not append_only.find_switch_rows(connection):
        return []
    hint = _(
        "Find out how the row got there. Run `manage.py migrate --skip-checks` to remove it, then `manage.py audit check`."
    )
    return [Error(f"{append_only.switch_warning()}.", hint=hint, id="approvals.E003")]
