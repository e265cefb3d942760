"""Actions that direct people's attention."""

from approvals.actions.attention.advice import Recommendation, advise
from approvals.actions.attention.floods import new_requests, tell_of_floods

__all__ = ["Recommendation", "advise", "new_requests", "tell_of_floods"]
