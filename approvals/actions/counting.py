"""Take a request that ends off the count of its workflow, in one statement that also locks the workflow."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from approvals.models import Workflow
from approvals.runtime.transactions import in_line
from approvals.states import WorkflowState

#: When the statement has the lock, for which PostgreSQL may have waited; on SQLite the transaction begins with it.
_CLOCK = {"postgresql": "clock_timestamp()", "sqlite": "%(now)s"}
#: Only the last request that a workflow waits for changes its state. The result says too whether events go anywhere.
_COUNT_DOWN = """
    UPDATE approvals_workflow SET
        open_count = open_count - 1,
        state = CASE WHEN open_count = 1 THEN %(state)s ELSE state END,
        urgency = CASE WHEN open_count = 1 THEN NULL ELSE urgency END,
        suspended_at = CASE WHEN open_count = 1 THEN NULL ELSE suspended_at END,
        ended_at = CASE WHEN open_count = 1 AND %(ends)s THEN {clock} ELSE ended_at END
    WHERE id = %(id)s AND open_count > 0
    RETURNING open_count, EXISTS (SELECT 1 FROM approvals_webhookendpoint WHERE active)
                       OR EXISTS (SELECT 1 FROM approvals_notificationrule WHERE active), ended_at
"""


def count_down(workflow: Workflow, *, ends_as: WorkflowState | None) -> datetime | None:
    """Lock a workflow for the rest of the transaction and take one of its open requests off; None if it has none.

    Without another open request it runs on, or has ended in the state `ends_as`. With one, its `urgency` is left to the
    caller. Return the time under the lock, which is also the time of the end.
    """
    state, now = ends_as or WorkflowState.RUNNING, timezone.now()
    given: dict[str, Any] = {"state": state, "ends": ends_as is not None, "id": workflow.pk}
    if connection.vendor == "sqlite":
        given["now"] = connection.ops.adapt_datetimefield_value(now)
    with in_line(("workflow", workflow.pk)), connection.cursor() as cursor:
        cursor.execute(_COUNT_DOWN.format(clock=_CLOCK[connection.vendor]), given)
        row = cursor.fetchone()
    if row is None:
        return None
    workflow.open_count, workflow.has_targets = row[0], bool(row[1])
    if connection.vendor == "postgresql":
        # Not the time from before the statement: open pages ask for what has changed since they were made.
        now = row[2] if row[2] is not None else timezone.now()
    if not workflow.open_count:
        workflow.state, workflow.urgency, workflow.suspended_at = state, None, None
        workflow.ended_at = None if ends_as is None else now
    return now
