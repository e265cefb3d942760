"""The search text of requests (`approvals.queries.search` has the queries)."""

from __future__ import annotations

from django.db import models


class SearchText(models.Model):
    """The searchable text of a request, its comments and its decision.

    It is written in the transaction of its sources. On SQLite triggers maintain an FTS5 index over it, on PostgreSQL a GIN index
    covers its `tsvector`, which is not stored in the row.
    """

    request = models.OneToOneField(
        "approvals.ApprovalRequest", on_delete=models.CASCADE, related_name="+"
    )
    words = models.TextField()

    def __str__(self) -> str:
        return self.words[:60]
