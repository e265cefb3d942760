"""What may go wrong with a call of Slack's Web API, besides what the workspace's state refuses."""

from __future__ import annotations

import enum
import threading
from dataclasses import dataclass, field
from typing import Any


class Cut(enum.Enum):
    BEFORE = "the connection ends, and Slack has not done it"
    AFTER = "Slack has done it, and the connection ends before the answer"


@dataclass(frozen=True)
class Fault:
    error: str = ""
    status: int = 200
    retry_after: int = 0
    cut: Cut | None = None
    held: threading.Event | None = None
    #: Is sent as it is.
    body: bytes = b""
    members: dict[str, Any] = field(default_factory=dict)


def fails(error: str, **members: Any) -> Fault:
    """Return a fault in Slack's manner: 200 with `ok: false`."""
    return Fault(error=error, members=members)


def limited(seconds: int) -> Fault:
    return Fault(error="ratelimited", status=429, retry_after=seconds)


def broken(status: int = 500, body: bytes = b"<html>Server Error</html>") -> Fault:
    return Fault(status=status, body=body)


def held(event: threading.Event) -> Fault:
    """Do it, and answer when the test sets the event."""
    return Fault(held=event)


LOST = Fault(cut=Cut.AFTER)
UNREACHED = Fault(cut=Cut.BEFORE)
