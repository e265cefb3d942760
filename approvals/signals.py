"""What the desk tells the code above it, always after the commit; a lost signal costs a moment (the sweep looks again)."""

from __future__ import annotations

from django.dispatch import Signal

#: Sent with `request_id: UUID` when a request has ended, whatever ended it.
decided = Signal()
