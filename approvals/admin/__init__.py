"""What administrators see and may change."""

from approvals.admin import records, subscriptions

__all__ = ["records", "subscriptions"]
