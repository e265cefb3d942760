"""The name by which migration 0010 knows the words of a search."""

from approvals.queries.search_words import kept

__all__ = ["kept"]
