"""Signals to the code above, sent after the commit. One that is lost only costs time: the sweep checks again."""

from __future__ import annotations

from django.dispatch import Signal

#: Sent with `request_id: UUID`, the `source` of its workflow and the door `via` which it has ended, for whatever reason.
decided = Signal()
