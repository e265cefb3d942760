"""The clock of the demo: what is created within `at` has that time, so that a new desk has two weeks of history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from unittest import mock

from django.utils import timezone


@contextmanager
def at(moment: datetime) -> Iterator[None]:
    """Let Django's `timezone.now` return `moment`, also where it is the default of a column. The database keeps its own clock."""

    class Then(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return moment if tz is None else moment.astimezone(tz)

    with mock.patch.object(timezone, "datetime", Then):
        yield
