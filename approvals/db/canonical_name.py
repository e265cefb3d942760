"""The column of a name that counts in its canonical form (`text.canonical_names`), however a program writes it."""

from __future__ import annotations

from typing import Any

from django.db import models

from approvals.text.canonical_names import fold


class CanonicalNameField(models.CharField):  # type: ignore[type-arg]
    """A name that is stored in its canonical form, and compared in it: a value may come in any spelling."""

    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        return fold(value) if isinstance(value, str) else value
