"""Store what people choose for themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from approvals.models import Preferences


def store_preferences(person: User, chosen: Mapping[str, Any]) -> None:
    """Store some of a person's preferences; the others stay. Values were checked by a form."""
    Preferences.objects.update_or_create(person=person, defaults=dict(chosen))
