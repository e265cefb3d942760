"""What the System page shows of each component."""

from __future__ import annotations

from dataclasses import dataclass

OK = "ok"
WARN = "warn"
BAD = "bad"


@dataclass(frozen=True, slots=True)
class SystemPart:
    """One component: its state, its description, and how to fix a problem."""

    name: str
    state: str
    summary: str
    advice: str = ""
