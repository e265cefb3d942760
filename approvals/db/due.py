"""Process due rows, so that no row holds up the others."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet

from approvals.db.pool import AWAY, is_locked

logger = logging.getLogger(__name__)

BATCH = 100


def for_each_due(rows: QuerySet[Any], work: Callable[[Any], object]) -> None:
    """Call `work` with the primary key of each row, in order and in batches, until all have been tried.

    A row that is still due afterwards, because it is locked or its work failed, is left for the next time. Errors are logged,
    except that the database is away, which is raised.
    """
    left: set[Any] = set()
    while due := list(rows.exclude(pk__in=left).values_list("pk", flat=True)[:BATCH]):
        for pk in due:
            try:
                work(pk)
            except AWAY as error:
                if not is_locked(error):
                    raise
            except Exception:
                logger.exception(
                    "%s %s could not be processed; it will be tried again",
                    rows.model.__name__,
                    pk,
                )
        left.update(rows.filter(pk__in=due).values_list("pk", flat=True))
