"""How a record of the log is written: with its traceback where the mistake is ours, in one line where it is a client's."""

from __future__ import annotations

import copy
import logging


class Line(logging.Formatter):
    """Whoever scans the site with made-up host names and forms would else fill the log with our code."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name.startswith("django.security"):
            # The record itself is for every other handler too.
            record = copy.copy(record)
            record.exc_info = record.exc_text = None
        return super().format(record)
