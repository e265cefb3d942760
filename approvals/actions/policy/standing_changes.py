"""What follows from a change of who may decide: of people, teams, rights, scopes or absences.

Whoever writes such a change reads `powers_of_givers` before it and calls `standing_changed` after it, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from approvals.actions.policy.ending import end_lost_grants
from approvals.actions.policy.undecidable import ask_for_check
from approvals.actions.recounting import ask_for_recount


def standing_changed(before: Mapping[UUID, float]) -> None:
    """End the grants whose givers have lost what they had `before`, and have what waits checked and counted anew by the sweep."""
    end_lost_grants(before)
    ask_for_check()
    ask_for_recount()
