"""Text from clients cannot start a log line or control the terminal that shows it."""

from __future__ import annotations

import logging
import sys

import pytest

from hitlsite.logs import LineFormatter

FORMAT = "%(levelname)s %(name)s: %(message)s"


def written(message: str, *args: object, error: Exception | None = None) -> str:
    found = None
    if error is not None:
        try:
            raise error
        except Exception:
            found = sys.exc_info()
    return LineFormatter(FORMAT).format(
        logging.LogRecord("django.request", logging.ERROR, "x.py", 1, message, args, found)
    )


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("/a\nERROR root: forged", "/a\\nERROR root: forged"),
        ("/a\r\n", "/a\\r\\n"),
        ("/\x1b[2Jgone", "/\\x1b[2Jgone"),
        ("/\x9b31m", "/\\x9b31m"),
        ("/a\u2028b\u2029c\x85", "/a\\u2028b\\u2029c\\x85"),
        ("/\u202egnp.exe", "/\\u202egnp.exe"),
        ("/caf\u00e9/\u6771\u4eac", "/caf\u00e9/\u6771\u4eac"),
    ],
)
def test_text_in_an_address_stays_in_its_log_line(sent, shown):
    assert written("Internal Server Error: %s", sent) == f"ERROR django.request: Internal Server Error: {shown}"


def test_a_traceback_keeps_its_lines_and_escapes_their_text():
    lines = written("failed", error=ValueError("no \x1b[2J")).splitlines()
    assert lines[0] == "ERROR django.request: failed"
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: no \\x1b[2J"
