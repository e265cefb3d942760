"""The outcome of an ask, as a function of its facts. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from approvals.actions.asks.facts import AskFacts
from approvals.actions.policy.asks import PolicyOutcome, on_ask


class RefusedBecause(StrEnum):
    """Why an ask is refused."""

    WORKFLOW_ENDED = "workflow_ended"
    CANNOT_BE_ASSIGNED = "cannot_be_assigned"


@dataclass(frozen=True, slots=True)
class AskRefused:
    """No request is created."""

    why: RefusedBecause


Outcome = AskRefused | PolicyOutcome


def outcome_of(facts: AskFacts) -> Outcome:
    """Return the outcome of an ask: it is refused, or the policy determines whether people are asked."""
    if facts.workflow_ended:
        return AskRefused(RefusedBecause.WORKFLOW_ENDED)
    if not facts.assignable:
        return AskRefused(RefusedBecause.CANNOT_BE_ASSIGNED)
    return on_ask(facts.policy)
