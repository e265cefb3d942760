"""What administrators see and may change."""

from approvals.admin import keys, records, subscriptions

__all__ = ["keys", "records", "subscriptions"]
