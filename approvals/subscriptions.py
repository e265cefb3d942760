"""The name by which migration 0004 knows the check of addresses."""

from approvals.models.subscriptions import check_address

__all__ = ["check_address"]
