"""A JSON column that returns exactly what was stored, on every database."""

from __future__ import annotations

import json
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression


class ExactJSONField(models.JSONField):
    """A JSON column of type text.

    PostgreSQL's jsonb loses the order of keys, on which cached prompts and approvers rely, and turns 1e300 into an integer of
    300 digits: what is read back would not be what was approved. No query looks inside these columns.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "text"

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        if isinstance(value, Expression):
            return value
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
