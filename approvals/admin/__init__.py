"""What administrators see and may change."""

from approvals.admin import desk, subscriptions

__all__ = ["desk", "subscriptions"]
