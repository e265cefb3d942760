"""Custom columns: JSON that is stored exactly, and names that are stored in canonical form."""

from __future__ import annotations

import json
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression

from approvals.text.names import fold

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


class ExactJSONField(models.JSONField):
    """A JSON column of type text.

    PostgreSQL's jsonb loses the order of keys, on which cached prompts and approvers rely, and turns 1e300 into an integer of 300
    digits, so that a value read back would differ from the approved one. No query looks inside these columns.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "text"

    def get_db_prep_value(
        self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False
    ) -> Any:
        if isinstance(value, Expression):
            return value
        return _encoder.encode(value)


class CanonicalNameField(models.CharField):  # type: ignore[type-arg]
    """A name that is stored and compared in canonical form; lookups accept any spelling."""

    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        return fold(value) if isinstance(value, str) else value
