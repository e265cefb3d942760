"""Templates that fill the form of a rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy as _

_RULES = json.loads(Path(__file__).with_suffix(".json").read_text())
_NAMES = (
    _("Two people over an amount"),
    _("Finance and security over an amount"),
    _("First an approver, then an administrator"),
    _("Small amounts pass"),
    _("Email to our own domain passes"),
    _("Read-only calls pass"),
    _("Nothing is deleted"),
    _("Two people at night"),
    _("A decision within a day"),
    _("Commands with care"),
)


def starters() -> list[dict[str, Any]]:
    """Return rules to start from, named in the reader's language."""
    return [
        {"name": str(name), **rule} for name, rule in zip(_NAMES, _RULES, strict=True)
    ]
