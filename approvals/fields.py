"""Kept because landed migrations import the JSON field from here."""

from approvals.db.json_field import ExactJSONField

__all__ = ["ExactJSONField"]
