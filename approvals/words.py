"""Kept because migration 0010 imports the text of the full-text index from here."""

from approvals.queries.search_words import words_to_index as kept

__all__ = ["kept"]
