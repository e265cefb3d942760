"""Kept because migration 0004 imports the check of addresses from here."""

from approvals.models.subscriptions import check_address

__all__ = ["check_address"]
