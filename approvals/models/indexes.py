"""Indexes of requests for lists: waiting, ended, and filtered by status, kind, tool or priority.

A decision changes the status of a request, so PostgreSQL rewrites the row and adds an entry to each index that covers it.
Indexes for waiting requests are therefore partial: a decision adds nothing to them.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

WAITING = Q(status="pending")
#: Waiting requests: most urgent first, then oldest first.
_MOST_URGENT = ("urgency", "created_at", "id")

OF_REQUESTS = [
    models.Index(fields=_MOST_URGENT, name="request_waiting", condition=WAITING),
    models.Index(
        fields=["canonical_tool", *_MOST_URGENT],
        name="request_waiting_tool",
        condition=WAITING,
    ),
    models.Index(
        fields=["agent", *_MOST_URGENT], name="request_waiting_agent", condition=WAITING
    ),
    models.Index(
        fields=["workflow", *_MOST_URGENT],
        name="request_waiting_workflow",
        condition=WAITING,
    ),
    models.Index(
        fields=["assigned_to", *_MOST_URGENT],
        name="request_waiting_mine",
        condition=WAITING,
    ),
    # Not partial: SQLite's planner would start with the few users, and sort all their waiting requests for one page.
    models.Index(
        fields=["requested_by", "status", *_MOST_URGENT], name="request_inbox_requester"
    ),
    models.Index(fields=["-changed_at", "-id"], name="request_latest"),
    models.Index(fields=["status", "-changed_at", "-id"], name="request_latest_status"),
    models.Index(
        fields=["canonical_tool", "-changed_at", "-id"], name="request_latest_tool"
    ),
    models.Index(fields=["agent", "-changed_at", "-id"], name="request_latest_agent"),
    models.Index(
        fields=["workflow", "-changed_at", "-id"], name="request_latest_workflow"
    ),
    models.Index(
        fields=["requested_by", "-changed_at", "-id"], name="request_latest_requester"
    ),
    # For people limited by scopes: one range for each scope set.
    models.Index(
        fields=["scope_set", *_MOST_URGENT],
        name="request_waiting_scope_set",
        condition=WAITING,
    ),
    models.Index(
        fields=["scope_set", "-changed_at", "-id"],
        name="request_latest_scope_set",
        condition=Q(scope_set__isnull=False),
    ),
    # For `queries.policy.repeats`. The condition has the same words as the query, so that SQLite uses it.
    models.Index(
        fields=["requested_by", "input_fingerprint", "-changed_at"],
        name="request_same_decided",
        condition=Q(
            kind="approval", status__in=["approved", "rejected"], repeats__isnull=True
        ),
    ),
    models.Index(fields=["scoped_upto"], name="request_unscoped", condition=WAITING),
    # Partial, because few requests are assigned or claimed: SQLite's planner would not use an index over all rows.
    models.Index(
        fields=["assigned_to", "-changed_at", "-id"],
        name="request_latest_mine",
        condition=Q(assigned_to__isnull=False),
    ),
    models.Index(
        fields=["assigned_to", "workflow"],
        name="request_assigned",
        condition=Q(assigned_to__isnull=False),
    ),
    models.Index(
        fields=["claimed_by"],
        name="request_claimant",
        condition=Q(claimed_by__isnull=False),
    ),
    models.Index(
        fields=["claimed_at"],
        name="request_claimed",
        condition=Q(status="pending", claimed_at__isnull=False),
    ),
    models.Index(
        fields=["touched_at"],
        name="request_touched",
        condition=Q(touched_at__isnull=False),
    ),
    models.Index(
        fields=["deadline_at"],
        name="request_due",
        condition=Q(status="pending", deadline_at__isnull=False),
    ),
    models.Index(fields=["-created_at", "-id"], name="request_newest"),
    models.Index(fields=["status", "-created_at", "-id"], name="request_newest_status"),
    models.Index(fields=["kind", "-created_at", "-id"], name="request_newest_kind"),
    models.Index(
        fields=["canonical_tool", "-created_at", "-id"], name="request_newest_tool"
    ),
    models.Index(
        fields=["priority", "-created_at", "-id"], name="request_newest_priority"
    ),
]
