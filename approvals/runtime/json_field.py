"""JSON that comes back as it was written, on every database."""

from __future__ import annotations

import json
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class ExactJSONField(models.JSONField):
    """A JSON column of type text.

    PostgreSQL's jsonb forgets the order of keys (which a model's cached prompt and an approver's eye both go by) and turns
    1e300 into an integer of 300 digits, so that what was approved would not be what is read back. No key is ever queried.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "text"

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
