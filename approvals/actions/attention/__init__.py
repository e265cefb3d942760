"""Actions that help people to look where it matters."""

from approvals.actions.attention.advising import Recommendation, advise
from approvals.actions.attention.flooding import new_requests, tell_of_floods
from approvals.actions.attention.seeding import (
    add_case,
    answer_check,
    plant_checks,
    remove_case,
    switch_checks,
    switched_on,
)

__all__ = [
    "Recommendation",
    "add_case",
    "advise",
    "answer_check",
    "new_requests",
    "plant_checks",
    "remove_case",
    "switch_checks",
    "switched_on",
    "tell_of_floods",
]
