"""Store the files of requests, and remove unclaimed and old ones.

A file is stored before the transaction that creates its request, so that a slow storage holds no lock. Its row exists from before
the file until after it, so that the sweep finds everything that a crash leaves behind.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from approvals.actions.upkeep.pruning import record_removed
from approvals.asking.attachments import (
    NewFile,
    StorageFailed,
    storage_failed,
    storage_outage,
)
from approvals.db.pool import AWAY, is_locked
from approvals.exceptions import Refusal
from approvals.models import ApprovalRequest, RequestAttachment
from approvals.models.attachments import file_storage, path_of
from approvals.states import Status

logger = logging.getLogger(__name__)

#: How long a file is kept without a request, and the minimum rest of that time for a request to claim it.
UNCLAIMED = timedelta(hours=1)
MARGIN = timedelta(minutes=10)
#: The delay before another attempt to remove a file.
AGAIN = timedelta(hours=1)
BATCH = 100


@contextmanager
def stored(files: Sequence[NewFile]) -> Iterator[None]:
    """Store these files, and finally remove those without a request. Raise StorageFailed.

    After a database error nothing is removed: a commit whose reply was lost may still succeed, and then a request has these
    files. The sweep removes unclaimed ones after UNCLAIMED.
    """
    ids = [file.known.id for file in files]
    erase_at = timezone.now() + UNCLAIMED
    RequestAttachment.objects.bulk_create(
        RequestAttachment(pk=pk, erase_at=erase_at) for pk in ids
    )
    try:
        for file in files:
            _save(file)
        yield
    except Exception as error:
        if isinstance(error, Refusal) or is_locked(error):
            _erase_unclaimed(ids)
        raise
    _erase_unclaimed(ids)


def _erase_unclaimed(ids: Sequence[str]) -> None:
    """Remove those of these files that no request has, or leave them to the sweep if the database is away."""
    try:
        erase_attachments(RequestAttachment.objects.filter(pk__in=ids, request=None))
    except AWAY as error:
        logger.warning("Files that no request has are left to the sweep: %s", error)


def _save(file: NewFile) -> None:
    try:
        path = file_storage().save(file.known.path, ContentFile(file.content))
    except Exception as error:
        raise storage_failed(error) from error
    storage_outage.record_success()
    if path != file.known.path:
        # All readers use its original name.
        logger.error(
            'STORAGES["attachments"] renames files, so it cannot be used: %s became %s',
            file.known.path,
            path,
        )
        file_storage().delete(path)
        raise StorageFailed


def attach(request: ApprovalRequest, files: Sequence[NewFile]) -> None:
    """Give a request its stored files, in the transaction that creates or ends it. Raise StorageFailed if that took too long."""
    if not files:
        # The common case; building a query costs as much as sending it.
        return
    ids = [file.known.id for file in files]
    free = RequestAttachment.objects.filter(
        pk__in=ids, request=None, erase_at__gt=timezone.now() + MARGIN
    )
    if free.update(request=request, erase_at=None) != len(ids):
        raise StorageFailed


def due_attachments(now: object) -> QuerySet[RequestAttachment]:
    """Return the files that are due for removal."""
    return RequestAttachment.objects.filter(erase_at__lte=now)


def erase_attachments(rows: QuerySet[RequestAttachment]) -> None:
    """Remove these files, and then their rows; retry failed removals later."""
    for pk in rows.values_list("pk", flat=True)[:BATCH]:
        try:
            file_storage().delete(path_of(pk))
        except Exception:
            logger.warning(
                "The file of attachment %s could not be removed; it will be tried again",
                pk,
                exc_info=True,
            )
            RequestAttachment.objects.filter(pk=pk).update(
                erase_at=timezone.now() + AGAIN
            )
        else:
            RequestAttachment.objects.filter(pk=pk).delete()


def old_attachments(before: datetime) -> QuerySet[RequestAttachment]:
    """Return the files of requests that ended before then."""
    ended = RequestAttachment.objects.filter(
        erase_at=None, request__changed_at__lt=before
    )
    return ended.exclude(request__status=Status.PENDING)


def prune_attachments(before: datetime) -> int:
    """Remove one batch of `old_attachments`, on record; return their number. Names, sizes and digests stay in the requests."""
    with transaction.atomic():
        ids = list(
            old_attachments(before).order_by("pk").values_list("pk", flat=True)[:BATCH]
        )
        RequestAttachment.objects.filter(pk__in=ids).update(erase_at=timezone.now())
        if ids:
            record_removed(before, attachments=len(ids))
    erase_attachments(RequestAttachment.objects.filter(pk__in=ids))
    return len(ids)
