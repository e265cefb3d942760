"""The indexes of requests, for the lists: waiting, ended, and filtered by status, kind, tool or priority."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

OF_REQUESTS = [
    models.Index(fields=["status", "urgency", "created_at", "id"], name="request_inbox"),
    models.Index(fields=["status", "tool_name", "urgency", "created_at", "id"], name="request_inbox_tool"),
    models.Index(fields=["status", "agent", "urgency", "created_at", "id"], name="request_inbox_agent"),
    models.Index(fields=["status", "workflow", "urgency", "created_at", "id"], name="request_inbox_workflow"),
    models.Index(fields=["status", "-changed_at", "-id"], name="request_over"),
    models.Index(fields=["tool_name", "-changed_at", "-id"], name="request_over_tool"),
    models.Index(fields=["agent", "-changed_at", "-id"], name="request_over_agent"),
    models.Index(fields=["requested_by", "status", "urgency", "created_at", "id"], name="request_inbox_requester"),
    models.Index(fields=["assigned_to", "status", "urgency", "created_at", "id"], name="request_inbox_mine"),
    models.Index(fields=["requested_by", "-changed_at", "-id"], name="request_over_requester"),
    models.Index(fields=["assigned_to", "-changed_at", "-id"], name="request_over_mine"),
    # Partial, because few requests are assigned: SQLite's planner would not use an index over all rows.
    models.Index(fields=["assigned_to", "workflow"], name="request_assigned", condition=Q(assigned_to__isnull=False)),
    models.Index(fields=["changed_at"], name="request_changed"),
    models.Index(fields=["touched_at"], name="request_touched", condition=Q(touched_at__isnull=False)),
    models.Index(
        fields=["claimed_at"], name="request_claimed", condition=Q(status="pending", claimed_at__isnull=False)
    ),
    models.Index(fields=["-created_at", "-id"], name="request_age"),
    models.Index(fields=["status", "-created_at", "-id"], name="request_age_status"),
    models.Index(fields=["kind", "-created_at", "-id"], name="request_age_kind"),
    models.Index(fields=["tool_name", "-created_at", "-id"], name="request_age_tool"),
    models.Index(fields=["priority", "-created_at", "-id"], name="request_age_priority"),
    models.Index(fields=["tool_name", "-changed_at"], name="request_precedents", condition=~Q(status="pending")),
    models.Index(fields=["deadline_at"], name="request_due", condition=Q(status="pending", deadline_at__isnull=False)),
]
