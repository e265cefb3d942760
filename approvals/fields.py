"""The name by which migrations know the JSON field."""

from approvals.runtime.json_field import ExactJSONField

__all__ = ["ExactJSONField"]
