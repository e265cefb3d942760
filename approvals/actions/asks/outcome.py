"""What becomes of an ask, as a function of its facts. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from approvals.actions.asks.facts import AskFacts
from approvals.actions.policy.asks import PolicyOutcome, on_ask


class Why(StrEnum):
    """Why an ask is refused."""

    WORKFLOW_ENDED = "workflow_ended"
    CANNOT_BE_ASSIGNED = "cannot_be_assigned"


@dataclass(frozen=True, slots=True)
class Refused:
    """No request is made."""

    why: Why


Outcome = Refused | PolicyOutcome


def outcome_of(facts: AskFacts) -> Outcome:
    """Return what becomes of an ask: it is refused, or the policy says whether people are asked."""
    if facts.workflow_ended:
        return Refused(Why.WORKFLOW_ENDED)
    if not facts.assignable:
        return Refused(Why.CANNOT_BE_ASSIGNED)
    return on_ask(facts.policy)
