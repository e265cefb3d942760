"""What administrators see and may change."""

from approvals.admin import keys, records, subscriptions, votes

__all__ = ["keys", "records", "subscriptions", "votes"]
