"""Take a request that ends off the count of its workflow, in one statement that also locks the workflow."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from approvals.models import Workflow
from approvals.states import WorkflowState

#: Only the last request that a workflow waits for changes its state. The result says too whether events go anywhere.
_COUNT_DOWN = """
    UPDATE approvals_workflow SET
        open_count = open_count - 1,
        state = CASE WHEN open_count = 1 THEN %s ELSE state END,
        urgency = CASE WHEN open_count = 1 THEN NULL ELSE urgency END,
        suspended_at = CASE WHEN open_count = 1 THEN NULL ELSE suspended_at END,
        ended_at = CASE WHEN open_count = 1 THEN %s ELSE ended_at END
    WHERE id = %s AND open_count > 0
    RETURNING open_count, EXISTS (SELECT 1 FROM approvals_webhookendpoint WHERE active)
                       OR EXISTS (SELECT 1 FROM approvals_notificationrule WHERE active)
"""


def count_down(workflow: Workflow, *, ends_as: WorkflowState | None, at: datetime) -> bool:
    """Lock a workflow for the rest of the transaction and take one of its open requests off; False if it has none.

    Without another open request it runs on, or has ended at that moment in the state `ends_as`. With one, its `urgency` is
    left to the caller.
    """
    state, ended_at = ends_as or WorkflowState.RUNNING, None if ends_as is None else at
    with connection.cursor() as cursor:
        cursor.execute(_COUNT_DOWN, [state, connection.ops.adapt_datetimefield_value(ended_at), workflow.pk])
        row = cursor.fetchone()
    if row is None:
        return False
    workflow.open_count, workflow.has_targets = row[0], bool(row[1])
    if not workflow.open_count:
        workflow.state, workflow.urgency, workflow.suspended_at = state, None, None
        workflow.ended_at = ended_at
    return True
