"""The words of each request, beside it: what a full-text search goes by (`approvals.queries.search` asks the databases)."""

from __future__ import annotations

from django.db import models


class SearchText(models.Model):
    """Title, message, tool, input and context of a request, and what was said when it ended, as `words.kept` has them.

    Written in the transaction of what it repeats. SQLite keeps an FTS5 index over it by triggers, PostgreSQL a
    `tsvector` with a GIN index as a generated column.
    """

    request = models.OneToOneField("approvals.ApprovalRequest", on_delete=models.CASCADE, related_name="+")
    words = models.TextField()

    def __str__(self) -> str:
        return self.words[:60]
