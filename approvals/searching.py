"""The name by which migration 0010 knows the full-text indexes."""

from approvals.queries.search import create_index, drop_index

__all__ = ["create_index", "drop_index"]
