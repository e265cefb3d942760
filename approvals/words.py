"""The import path that migration 0010 uses for the function that extracts search words."""

from approvals.queries.search_words import words_to_index as kept

__all__ = ["kept"]
