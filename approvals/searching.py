"""Kept because migration 0009 imports the functions of the full-text index from here."""

from approvals.queries.search import create_index, drop_index

__all__ = ["create_index", "drop_index"]
