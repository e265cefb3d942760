"""Signals to the code above, sent after the commit. A lost signal only costs time: the sweep checks again."""

from __future__ import annotations

from django.dispatch import Signal

#: Sent with `request_id: UUID`, the `source` of its workflow, and `via`, the channel of its end, for any end.
decided = Signal()
