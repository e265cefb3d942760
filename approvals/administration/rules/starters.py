"""Templates that fill the form of a rule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy as _

from approvals.administration.people.queries import teams
from approvals.text.names import fold

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
    """Return rules to start from, named in the reader's language, with teams as they are spelled here."""
    spelled = {fold(name): name for name in teams().values_list("name", flat=True)}
    return [
        {"name": str(name), **_with_teams(rule, spelled)}
        for name, rule in zip(_NAMES, _RULES, strict=True)
    ]


def _with_teams(rule: Any, spelled: Mapping[str, str]) -> Any:
    """Return a copy of a rule, or of a part of it, with these spellings of its teams."""
    if isinstance(rule, list):
        return [_with_teams(part, spelled) for part in rule]
    if not isinstance(rule, dict):
        return rule
    return {
        name: [spelled.get(team, team) for team in part]
        if name == "teams"
        else _with_teams(part, spelled)
        for name, part in rule.items()
    }
