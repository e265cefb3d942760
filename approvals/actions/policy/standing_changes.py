"""Consequences of a change of rights to decide: of people, teams, rights, scopes or absences.

The writer of such a change calls `standing_before` before it and `standing_changed` after it, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from uuid import UUID

from approvals.access.standing import NOBODY, Standing, standings_of
from approvals.actions.channels.cards import look_again
from approvals.actions.logins import EndReason, end_sessions
from approvals.actions.policy.grants.end import end_lost_grants
from approvals.actions.policy.undecidable import ask_for_check
from approvals.actions.policy.votes.recount import ask_for_recount
from approvals.queries.policy.grants.givers import powers_of_givers


@dataclass(frozen=True, slots=True)
class Before:
    """The losses that a change may bring: limits of the givers of grants, and people's accounts and rights."""

    powers: Mapping[UUID, float] = field(default_factory=dict)
    standings: Mapping[int, Standing] = field(default_factory=dict)


#: Of a change that only gives.
NOTHING_TO_LOSE = Before()


def standing_before(people: Collection[int]) -> Before:
    """Read what a change of these people's accounts, roles, teams or rights may take away from them."""
    return Before(powers_of_givers(people), standings_of(people))


def standing_changed(before: Before) -> None:
    """End grants and sessions of people who have lost rights since `before`, and request a check, a recount and a look at cards.

    A session ends if its person has lost any right, however they held it, or their account. Scopes and absences limit each
    decision under its lock, and end no session.
    """
    end_lost_grants(before.powers)
    now = standings_of(before.standings.keys())
    for person, held in sorted(before.standings.items(), key=itemgetter(0)):
        standing = now.get(person, NOBODY)
        if held.rights - standing.rights or standing.is_active < held.is_active:
            end_sessions(
                person,
                EndReason.RIGHTS if standing.is_active else EndReason.DEACTIVATED,
            )
    ask_for_check()
    ask_for_recount()
    look_again(before.standings.keys() or None)
