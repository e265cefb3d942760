"""File contents, for people who may see their request. Each file is checked against its digest."""

from __future__ import annotations

import hashlib
import logging
from uuid import UUID

from approvals.access.standing import Standing
from approvals.asking.answered_files import files_of_answer
from approvals.asking.attachments import FileRemoved, storage_failed, storage_outage
from approvals.exceptions import NotFound
from approvals.models.attachments import AttachedFile, file_storage, files_of
from approvals.queries.requests import get_request_for

logger = logging.getLogger(__name__)


def attachment_for(
    viewer: Standing, request_id: UUID, attachment_id: UUID
) -> AttachedFile:
    """Return the metadata of a file in a request or its answer, if this person may see it. Raise NotFound."""
    request = get_request_for(viewer, request_id)
    files = [*files_of(request.attachments), *files_of_answer(request)]
    file = next((file for file in files if file.id == str(attachment_id)), None)
    if file is None:
        raise NotFound
    return file


def content_of(file: AttachedFile) -> bytes:
    """Return the bytes of a file. Raise FileRemoved if they are gone or changed, or StorageFailed."""
    try:
        with file_storage().open(file.path) as stored:
            # Read one byte beyond its size, to detect a longer file.
            content: bytes = stored.read(file.size + 1)
    except FileNotFoundError:
        raise FileRemoved from None
    except Exception as error:
        raise storage_failed(error) from error
    storage_outage.record_success()
    if hashlib.sha256(content).hexdigest() != file.sha256:
        logger.error("The file of attachment %s is not the one that was sent", file.id)
        raise FileRemoved
    return content
