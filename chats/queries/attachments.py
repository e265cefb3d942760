"""The contents of files, for the model."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from chats.models import Attachment


def file_contents(
    chat_pk: int, file_ids: Sequence[uuid.UUID]
) -> dict[uuid.UUID, bytes]:
    """Return the contents of these files, without those that the chat does not have."""
    if not file_ids:
        return {}
    rows = Attachment.objects.filter(chat=chat_pk, file_id__in=file_ids).values_list(
        "file_id", "content"
    )
    return {file_id: bytes(content) for file_id, content in rows}
