"""Consequences of a change of rights to decide: of people, teams, rights, scopes or absences.

The writer of such a change calls `powers_of_givers` before it and `standing_changed` after it, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from approvals.actions.policy.grants.end import end_lost_grants
from approvals.actions.policy.undecidable import ask_for_check
from approvals.actions.policy.votes.recount import ask_for_recount


def standing_changed(before: Mapping[UUID, float]) -> None:
    """End grants whose givers have lost rights since `before`, and request a check and recount of pending requests."""
    end_lost_grants(before)
    ask_for_check()
    ask_for_recount()
