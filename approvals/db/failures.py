"""Log an outage in two lines, at its start and its end, however often something fails in between."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

#: Seconds without a failure after which an outage is over, so that intermittent failures count as one outage.
QUIET = 10.0


class OutageLog:
    """The outage log of one operation. The message `began` has a `%s` for the error."""

    def __init__(
        self,
        logger: logging.Logger,
        began: str,
        over: str,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._logger = logger
        self._began = began
        self._over = over
        self._clock = clock
        self._failures = 0
        self._last = 0.0
        self._passed = False
        self._lock = threading.Lock()

    def record_failure(self, error: object) -> bool:
        """Record a failure; return whether it starts an outage."""
        with self._lock:
            now = self._clock()
            known = self._failures > 0 and not (
                self._passed and now - self._last >= QUIET
            )
            self._failures = self._failures + 1 if known else 1
            self._last = now
            self._passed = False
        if not known:
            self._logger.warning(self._began, _first_line(error))
        return not known

    def record_success(self) -> None:
        """Record a success."""
        if not self._failures:
            return
        with self._lock:
            self._passed = True
            failures = self._failures if self._clock() - self._last >= QUIET else 0
            if failures:
                self._failures = 0
        if failures:
            self._logger.warning("%s (failures meanwhile: %d)", self._over, failures)


def _first_line(error: object) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
