"""Comments of people on a request, append-only."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from approvals.db.fields import ExactJSONField
from approvals.models.keys import MAX_ACTOR_NAME

MAX_TEXT = 5_000


class RequestComment(models.Model):
    """A comment on a request, in Markdown. Never changed."""

    request = models.ForeignKey(
        "approvals.ApprovalRequest",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="comments",
        editable=False,
    )
    #: A plain number, so that it survives the deletion of the user.
    by_id = models.BigIntegerField()
    by_name = models.CharField(max_length=MAX_ACTOR_NAME)
    via = models.CharField(max_length=20)
    text = models.TextField()
    #: The usernames of the people notified about a mention in the text; null if there are none.
    mentions = ExactJSONField(null=True, editable=False)
    at = models.DateTimeField(default=timezone.now)
    #: The display name of the author, annotated by `queries.comments.with_authors`.
    by_display: str | None = None

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["request", "-id"], name="comment_thread")
        ]

    def __str__(self) -> str:
        return f"{self.by_name} on {self.request_id}"
