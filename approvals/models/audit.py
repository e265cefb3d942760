"""Store the append-only record, one row per event."""

from __future__ import annotations

import json
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from approvals.json_types import JsonDict
from approvals.models.keys import MAX_ACTOR_NAME

User = settings.AUTH_USER_MODEL


class AuditEntry(models.Model):
    """One event. Append-only: triggers refuse all changes except to the two repeat columns.

    `body` is the canonical JSON (RFC 8785) of the whole entry; the other columns exist for filtering.
    """

    at = models.DateTimeField()
    event = models.CharField(max_length=40)
    scope = models.CharField(max_length=64)
    dedup_key = models.CharField(max_length=300, null=True)  # noqa: DJ001 - null means "not deduplicated"
    run_id = models.CharField(max_length=200, blank=True)
    request_id = models.UUIDField(null=True)
    thread_id = models.CharField("chat", max_length=200, blank=True)
    agent = models.CharField(max_length=100, blank=True)
    tool_name = models.CharField("tool", max_length=100, blank=True)
    tool_call_id = models.CharField(max_length=200, blank=True)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField("person", max_length=MAX_ACTOR_NAME, blank=True)
    via = models.CharField(max_length=20, blank=True)
    #: The verdict of a decision, for filtering; repeats `verdict` of the body's data.
    verdict = models.CharField(max_length=8, blank=True, db_default="", default="")
    #: The amount in the event's input, for filtering; the body repeats it.
    amount = models.FloatField(null=True)
    #: The number of pending requests of the workflow after this event; null for events without a request.
    open_after = models.PositiveIntegerField(null=True)
    body = models.TextField()
    digest = models.CharField(max_length=71)
    retry_count = models.PositiveIntegerField(default=0)
    last_seen_at = models.DateTimeField()

    #: The body, annotated by queries: for short ones (`queries.audit`), or for results (`queries.workflow_list`).
    #: The title of the request, annotated by the admin.
    short_body: str = ""
    request_title: str | None = None

    class Meta:
        verbose_name_plural = "audit entries"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["dedup_key"],
                name="audit_dedup_key",
                condition=Q(dedup_key__isnull=False),
            )
        ]
        # Not `db_index`: for a text column, that adds a second index for LIKE, which no query uses.
        indexes: ClassVar = [
            models.Index(fields=["scope", "run_id"], name="audit_run"),
            models.Index(fields=["at"], name="audit_at"),
            models.Index(fields=["request_id"], name="audit_request"),
            models.Index(fields=["thread_id"], name="audit_thread"),
            models.Index(fields=["tool_name"], name="audit_tool"),
            models.Index(fields=["actor_name"], name="audit_actor"),
            # By id for exports, and by time for the audit page, which sorts by it: otherwise SQLite would sort all entries of an
            # event for each page.
            models.Index(fields=["event"], name="audit_event"),
            models.Index(
                fields=["verdict"], name="audit_verdict", condition=Q(verdict__gt="")
            ),
            models.Index(fields=["tool_name", "at"], name="audit_tool_at"),
            models.Index(fields=["actor_name", "at"], name="audit_actor_at"),
            models.Index(fields=["event", "at"], name="audit_event_at"),
            models.Index(
                fields=["verdict", "at"],
                name="audit_verdict_at",
                condition=Q(verdict__gt=""),
            ),
            # With the id, so that a range can be searched without reading its entries.
            models.Index(
                fields=["amount", "id"],
                name="audit_amount",
                condition=Q(amount__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.tool_call_id or self.request_id or self.run_id}"

    @property
    def data(self) -> JsonDict:
        """The data of the event besides its columns."""
        data: JsonDict = json.loads(self.body)["data"]
        return data
