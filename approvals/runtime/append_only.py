"""Kept because landed migrations switch the triggers off through this module."""

from approvals.db.append_only import maintenance

__all__ = ["maintenance"]
