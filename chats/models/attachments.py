"""Files that people send with their messages, and files that tools return."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.db import models
from django.utils import timezone

from chats.models.chats import Chat


class Attachment(models.Model):
    """A file that a person's message names in a `file` part, or that the output of a call refers to.

    Its content is read only to show or to send it. The copy in a branch has the same `file_id`.
    """

    chat = models.ForeignKey(
        Chat, on_delete=models.CASCADE, related_name="attachments", db_index=False
    )
    file_id = models.UUIDField(default=uuid.uuid4, editable=False)
    media_type = models.CharField(max_length=50)
    name = models.CharField(max_length=200, blank=True)
    size = models.PositiveIntegerField()
    digest = models.CharField(max_length=71)
    content = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["chat", "file_id"], name="attachment_in_chat"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["file_id"], name="attachment_file")]

    def __str__(self) -> str:
        return self.name or str(self.file_id)
