"""Signals to the code above, sent after the commit. One that is lost only costs time: the sweep checks again."""

from __future__ import annotations

from django.dispatch import Signal

#: Sent with `request_id: UUID` and the `source` of its workflow when a request has ended, for whatever reason.
decided = Signal()
