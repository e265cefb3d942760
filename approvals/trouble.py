"""Log lines for what may fail hundreds of times a minute: one when it begins to fail, and one when it works again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

#: Seconds without a failure after which it is over: what fails every other time is still failing.
QUIET = 10.0


class Trouble:
    """One thing that fails or works. `began` has a `%s` for the error."""

    def __init__(
        self, logger: logging.Logger, began: str, over: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._logger, self._began, self._over, self._clock = logger, began, over, clock
        self._failures, self._last = 0, 0.0
        self._lock = threading.Lock()

    def met(self, error: object) -> bool:
        """It failed; whether that was news."""
        with self._lock:
            self._failures += 1
            self._last = self._clock()
            if self._failures > 1:
                return False
        self._logger.warning(self._began, _first_line(error))
        return True

    def passed(self) -> None:
        """It worked."""
        if not self._failures:
            return
        with self._lock:
            failures = self._failures if self._clock() - self._last >= QUIET else 0
            if failures:
                self._failures = 0
        if failures:
            self._logger.warning("%s (failures meanwhile: %d)", self._over, failures)


def _first_line(error: object) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
