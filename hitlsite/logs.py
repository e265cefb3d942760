"""How a record of the log is written: with its traceback where the mistake is ours, in one line where it is a client's.

What clients send (addresses, names, headers) can neither start a line of its own nor control a terminal.
"""

from __future__ import annotations

import copy
import logging
import re
from typing import Any

#: Control characters, Unicode line ends, and direction overrides.
_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class LineFormatter(logging.Formatter):
    """Whoever scans the site with made-up host names and forms would else fill the log with our code."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name.startswith("django.security"):
            # The record itself is for every other handler too.
            record = copy.copy(record)
            record.exc_info = record.exc_text = None
        return super().format(record)

    def formatMessage(self, record: logging.LogRecord) -> str:
        return escape_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        """Keep the lines of the traceback, and escape what is inside them."""
        return "\n".join(map(escape_line, super().formatException(ei).split("\n")))


def escape_line(line: str) -> str:
    """Return the line with these characters as Python escapes."""
    return _ODD.sub(lambda found: ascii(found[0])[1:-1], line)
