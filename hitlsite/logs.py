"""Format log records: with a traceback for our own errors, on one line for clients' errors.

Text from clients (addresses, names, headers) can neither start a new line nor control a terminal.
"""

from __future__ import annotations

import copy
import logging
import re
from typing import Any

#: Control characters, Unicode line ends, and direction overrides.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


#: Django's logging configuration.
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "hitlsite.logs.LineFormatter",
            "fmt": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "approvals": {"level": "INFO"},
        "chats": {"level": "INFO"},
        "hitlsite": {"level": "INFO"},
        # No handlers of its own: Django's would log nothing, or everything twice.
        "django": {"level": "INFO"},
        # A 404 is not an error of this site.
        "django.request": {"level": "ERROR"},
    },
}


class LineFormatter(logging.Formatter):
    """Omit the tracebacks of refused requests, with which a scanner could fill the log."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name.startswith("django.security"):
            # A copy, because other handlers get the same record.
            record = copy.copy(record)
            record.exc_info = record.exc_text = None
        return super().format(record)

    def formatMessage(self, record: logging.LogRecord) -> str:
        return escape_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        """Keep the traceback's line breaks, and escape the contents of its lines."""
        return "\n".join(map(escape_line, super().formatException(ei).split("\n")))


def escape_line(line: str) -> str:
    """Return the line with control characters as Python escapes."""
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], line)
